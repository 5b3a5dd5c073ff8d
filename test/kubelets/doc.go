// Package kubelets is a real cluster on one machine, for tests: etcd, the API server, the controller manager and the scheduler, and
// three nodes, each with a containerd, a kubelet and a kube-proxy of its own, which run the images that users run. Beside them is a
// machine for clients, with a kube-proxy of its own, where the tests are: they reach Services by ClusterIP, pods and the API server.
//
// What must hold:
//
//   - Each machine is a network namespace; a node has mounts, processes and cgroups of its own, too. Nothing listens in the
//     machine's own namespace, and its sysctls, files and firewall stay as they are.
//   - Everything made is removed again by Stop, with the death of the test's process (on whatever way), or by the next Start.
//     A process is ended only where it is the one that was recorded.
//   - Nothing is downloaded, and of Kubernetes nothing is built: where something is missing, Obstacle says what.
//
// There is no DNS in the cluster, no load balancer, no storage class, and nothing that enforces NetworkPolicies.
//
// The package must not know what Streamshift is, but for the names of its images.
package kubelets
