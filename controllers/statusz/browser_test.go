package statusz

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browserPatience bounds one run of a browser on a busy machine.
const browserPatience = 90 * time.Second

// browse loads a page in a headless browser and returns what it made of it, and what it complained about.
func browse(t *testing.T, url string, flags ...string) (page, complaints string) {
	t.Helper()
	var browser string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("skipped: there is no Chromium on this machine (Debian: apt-get install chromium)")
	}
	ctx, cancel := context.WithTimeout(t.Context(), browserPatience)
	defer cancel()
	command := exec.CommandContext(ctx, browser, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--user-data-dir=" + t.TempDir(), "--enable-logging=stderr", "--window-size=1280,1500", "--hide-scrollbars",
	}, append(flags, url)...)...)
	var output, log bytes.Buffer
	command.Stdout, command.Stderr = &output, &log
	command.WaitDelay = time.Second // helpers of it may hold its output open
	if err := command.Run(); err != nil {
		t.Fatalf("running %s: %v\n%s", browser, err, log.String())
	}
	return output.String(), log.String()
}

func TestThePageInABrowser(t *testing.T) {
	server := httptest.NewServer(handlerOf(busy()))
	defer server.Close()
	shot := filepath.Join(t.TempDir(), "statusz.png")
	if folder := os.Getenv("STATUSZ_SCREENSHOTS"); folder != "" {
		shot = filepath.Join(folder, "statusz.png") // to look at
	}
	page, complaints := browse(t, server.URL+Path, "--dump-dom", "--screenshot="+shot)
	for _, want := range []string{
		"<title>Streamshift: 2 streams wait</title>", `<table id="waiting">`, "orders/payments", `<table id="transfers">`, `<table id="nodes">`, "</html>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the browser shows no %q", want)
		}
	}
	for _, complaint := range []string{"Content Security Policy", "CONSOLE"} {
		if strings.Contains(complaints, complaint) {
			t.Errorf("the browser complains:\n%s", complaints)
		}
	}
	if image, err := os.Stat(shot); err != nil || image.Size() < 20_000 {
		t.Errorf("the picture of the page: %v, %v", image, err)
	}
}
