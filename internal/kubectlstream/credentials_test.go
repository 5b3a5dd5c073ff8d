package kubectlstream

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// listener is a gateway that notes what it is sent to know who asks.
func listener(t *testing.T, start func(*httptest.Server)) (server *httptest.Server, sent *string) {
	t.Helper()
	sent = new(string)
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { *sent = r.Header.Get("Authorization") }))
	server.Config.ErrorLog = nil
	start(server)
	t.Cleanup(server.Close)
	return server, sent
}

func kubeconfig(t *testing.T, user *clientcmdapi.AuthInfo) *genericclioptions.ConfigFlags {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	config.AuthInfos["u"] = user
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig = &path
	return flags
}

func TestWhoGetsWhichToken(t *testing.T) {
	secure, sent := listener(t, (*httptest.Server).StartTLS)
	plain, sentPlain := listener(t, (*httptest.Server).Start)
	trusted := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, []byte(trusted), 0o600); err != nil {
		t.Fatal(err)
	}
	withToken := &clientcmdapi.AuthInfo{Token: "kubeconfig"}
	withProgram := &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: "echo", InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		Args: []string{`{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"program"}}`},
	}}
	for name, c := range map[string]struct {
		at      place
		flags   gatewayFlags
		user    *clientcmdapi.AuthInfo
		want    string
		refused bool
	}{
		"the one that the cluster names, the kubeconfig's": {at: place{secure.URL, trusted, true}, user: withToken, want: "Bearer kubeconfig"},
		"or what the kubeconfig's program says":            {at: place{secure.URL, trusted, true}, user: withProgram, want: "Bearer program"},
		"or the one that was given":                        {at: place{secure.URL, trusted, true}, flags: gatewayFlags{token: "t"}, user: withToken, want: "Bearer t"},
		"a kubeconfig without a token has none to give":    {at: place{secure.URL, trusted, true}, user: &clientcmdapi.AuthInfo{}},
		"another one gets none":                            {at: place{secure.URL, trusted, false}, user: withToken},
		"another one gets what was given for it":           {at: place{secure.URL, trusted, false}, flags: gatewayFlags{token: "t"}, user: withToken, want: "Bearer t"},
		"one that a file says to trust":                    {at: place{secure.URL, "", true}, flags: gatewayFlags{authority: file}, user: withToken, want: "Bearer kubeconfig"},
		"one that nobody says to trust gets nothing":       {at: place{secure.URL, "", true}, user: withToken, refused: true},
		"without TLS none is sent, though named":           {at: place{plain.URL, "", true}, user: withToken},
		"without TLS none may be given":                    {at: place{plain.URL, "", false}, flags: gatewayFlags{token: "t"}, user: withToken, refused: true},
		"nobody is impersonated":                           {at: place{secure.URL, trusted, true}, user: &clientcmdapi.AuthInfo{Token: "k", Impersonate: "other"}, refused: true},
		"what is trusted must be certificates":             {at: place{secure.URL, "x", true}, user: withToken, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			*sent, *sentPlain = "", ""
			a := &access{Environment: Environment{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Getenv: func(string) string { return "" }}, flags: kubeconfig(t, c.user)}
			client, err := a.client(c.at, c.flags)
			if err == nil {
				_, err = client.Stream("default", "orders").Head(t.Context())
			}
			if got := *sent + *sentPlain; got != c.want {
				t.Errorf("the gateway got %q, want %q", got, c.want)
			}
			if (err != nil) != c.refused {
				t.Errorf("refused: %v, want %t", err, c.refused)
			}
		})
	}
}

func TestNoOtherCredentialsGoToAGateway(t *testing.T) {
	server, sent := listener(t, (*httptest.Server).StartTLS)
	transport, err := withCredentials(&rest.Config{Username: "u", Password: "p"}, server.Client().Transport)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if *sent != "" {
		t.Errorf("a password was sent: %q", *sent)
	}
}
