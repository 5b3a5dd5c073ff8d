package kubectlstream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// manifest is what krew reads.
type manifest struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Version, Homepage, ShortDescription, Description, Caveats string
		Platforms                                                 []struct {
			Selector         struct{ MatchLabels map[string]string }
			Bin, URI, SHA256 string
		}
	}
}

// TestKrewManifest fills in the template as a release does, and reads what comes out as krew does.
func TestKrewManifest(t *testing.T) {
	const tag, sum = "v1.2.3", "0123"
	path := filepath.Join("..", "..", "config", "krew", "stream.yaml")
	functions := template.FuncMap{"addURIAndSha": func(address, version string) string {
		// The next line stands below the first, which the template indents by four.
		return "uri: " + strings.ReplaceAll(address, "{{ .TagName }}", version) + "\n    sha256: \"" + sum + `"`
	}}
	parsed, err := template.New(filepath.Base(path)).Funcs(functions).ParseFiles(path)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := parsed.Execute(&text, map[string]string{"TagName": tag}); err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := yaml.UnmarshalStrict([]byte(text.String()), &m); err != nil {
		t.Fatalf("%v:\n%s", err, text.String())
	}
	if m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin" || m.Spec.Version != tag {
		t.Errorf("it is %s %s of version %s", m.APIVersion, m.Kind, m.Spec.Version)
	}
	if name := strings.TrimSuffix(filepath.Base(path), ".yaml"); m.Metadata.Name != name || displayName != "kubectl "+name {
		t.Errorf("the plugin is called %q, its file %q, and its command %q", m.Metadata.Name, name, displayName)
	}
	if m.Spec.ShortDescription == "" || len(m.Spec.ShortDescription) > 50 || strings.HasSuffix(m.Spec.ShortDescription, ".") {
		t.Errorf("krew wants a short description of 50 characters at most, without a full stop: %q", m.Spec.ShortDescription)
	}
	got := map[string]string{}
	for _, p := range m.Spec.Platforms {
		if p.SHA256 != sum {
			t.Errorf("the sum of %s is %q", p.URI, p.SHA256)
		}
		got[p.Selector.MatchLabels["os"]+"/"+p.Selector.MatchLabels["arch"]] = filepath.Base(p.URI) + " has " + p.Bin
	}
	want := map[string]string{
		"linux/amd64":   "kubectl-stream_linux_amd64.tar.gz has kubectl-stream",
		"linux/arm64":   "kubectl-stream_linux_arm64.tar.gz has kubectl-stream",
		"darwin/amd64":  "kubectl-stream_darwin_amd64.tar.gz has kubectl-stream",
		"darwin/arm64":  "kubectl-stream_darwin_arm64.tar.gz has kubectl-stream",
		"windows/amd64": "kubectl-stream_windows_amd64.zip has kubectl-stream.exe",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("archives (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join("..", "..", "LICENSE")); err != nil {
		t.Errorf("krew wants a licence in the archive: %v", err)
	}
}
