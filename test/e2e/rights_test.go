package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/streamshift/streamshift/test/localcluster"
)

// right is what a component may write.
type right struct {
	component, verb, group, resource string
}

func (r right) String() string {
	return fmt.Sprintf("%s: %s %s", r.component, r.verb, strings.TrimPrefix(r.group+"/"+r.resource, "/"))
}

// usedElsewhere are rights that no spec here comes to use, each with what does.
var usedElsewhere = map[string]string{
	"manager: patch configmaps":                      "users are told whom to trust, where an installation has told them its address (test/cluster)",
	"manager: update configmaps":                     "the authority changes (test/secure, renewal)",
	"manager: update secrets":                        "certificates are renewed (test/secure, renewal)",
	"manager: delete apps/controllerrevisions":       "a plan that a newer one replaces (test/gitops)",
	"manager: patch events.k8s.io/events":            "an event that repeats for minutes becomes a series (client-go)",
	"manager: delete streamshift.io/streamtransfers": "transfers whose time to live is over (test/gitops)",
}

// Each component runs with the role and under the policies that users install. None of them ever asks for more, and none has a
// right to write that it does not use.
var _ = AfterSuite(func(ctx SpecContext) {
	if cluster == nil {
		return
	}
	writes, err := cluster.Writes()
	Expect(err).NotTo(HaveOccurred())
	allowed, refused := map[right]bool{}, []localcluster.Write{}
	for _, write := range writes {
		if used, ok := rightOf(write); ok && write.Code < http.StatusBadRequest {
			allowed[used] = true
		}
	}
	for _, write := range writes {
		// An API server that has just been started knows no roles yet, and refuses everything for a moment.
		if used, ok := rightOf(write); ok && write.Code == http.StatusForbidden && !allowed[used] {
			refused = append(refused, write)
		}
	}
	Expect(refused).To(BeEmpty(), "writes that a component may not make")
	if suite, _ := GinkgoConfiguration(); len(suite.FocusStrings)+len(suite.SkipStrings)+len(suite.FocusFiles)+len(suite.SkipFiles) > 0 {
		GinkgoWriter.Println("Whether each right is used is not looked at: only a part of the suite ran")
		return
	}
	var idle []string
	for _, granted := range grantedRights(ctx) {
		if !allowed[granted] && usedElsewhere[granted.String()] == "" {
			idle = append(idle, granted.String())
		}
	}
	Expect(idle).To(BeEmpty(), "rights to write that are not used: take them out of the roles, or say in usedElsewhere where they are")
})

// rightOf returns the right that a write of a component needs.
func rightOf(write localcluster.Write) (right, bool) {
	component, ok := strings.CutPrefix(write.User, "system:serviceaccount:"+localcluster.SystemNamespace+":streamshift-")
	if !ok {
		return right{}, false
	}
	resource := write.Resource
	if write.Subresource != "" {
		resource += "/" + write.Subresource
	}
	return right{component, write.Verb, write.Group, resource}, true
}

// grantedRights are those of the roles that are installed.
func grantedRights(ctx context.Context) []right {
	GinkgoHelper()
	var roles rbacv1.RoleList
	Expect(cluster.Client().List(ctx, &roles)).To(Succeed())
	var clusterRoles rbacv1.ClusterRoleList
	Expect(cluster.Client().List(ctx, &clusterRoles)).To(Succeed())
	rules := map[string][]rbacv1.PolicyRule{}
	for i := range roles.Items {
		rules[roles.Items[i].Name] = append(rules[roles.Items[i].Name], roles.Items[i].Rules...)
	}
	for i := range clusterRoles.Items {
		rules[clusterRoles.Items[i].Name] = append(rules[clusterRoles.Items[i].Name], clusterRoles.Items[i].Rules...)
	}
	var granted []right
	for _, component := range []string{"manager", "node", "gateway"} {
		Expect(rules["streamshift-"+component]).NotTo(BeEmpty(), "the role of %s", component)
		for _, rule := range rules["streamshift-"+component] {
			granted = append(granted, writesOf(component, rule)...)
		}
	}
	return granted
}

func writesOf(component string, rule rbacv1.PolicyRule) (rights []right) {
	for _, verb := range rule.Verbs {
		if slices.Contains([]string{"get", "list", "watch"}, verb) {
			continue
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				rights = append(rights, right{component, verb, group, resource})
			}
		}
	}
	return rights
}
