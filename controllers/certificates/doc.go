// Package certificates gives the webhook, gateways and agents their certificates, from an authority of this installation, and has
// them renewed and the authority followed by the next one before they run out. All of it is in Secrets, which gateways and agents
// mount; the webhook, which is where they are made, serves the newest from memory on every replica. Whom to trust is told to the API
// server in the webhook's configuration, to the components beside their certificates, and to everybody in a ConfigMap.
//
// Where somebody else makes the Secrets (cert-manager), the package only reads the webhook's. It must not decide when something is to
// be renewed: internal/pki does.
package certificates
