package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"testing"
	"time"
)

var (
	begin    = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	settings = Settings{Authority: 8 * time.Minute, Certificate: 2 * time.Minute, Settle: time.Hour}
	request  = Request{Names: []string{"node.example", "other.example"}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
)

// trusts tells whether somebody who was told a bundle takes a certificate at a time.
func trusts(t *testing.T, bundle []byte, p Pair, at time.Time) error {
	t.Helper()
	pair, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	_, err = pair.Leaf.Verify(x509.VerifyOptions{
		DNSName: request.Names[0], Roots: pool, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}

// What is told takes a while to arrive: the bundles of the last minute, and the certificates of a third of their life, are all in use
// somewhere. Over five lives of the authority each of the ones takes each of the others.
func TestEverybodyTrustsEverybodyWhileAuthoritiesFollowOneAnother(t *testing.T) {
	const (
		step      = 5 * time.Second
		bundleLag = 11 // steps, somewhat less than the minute for which an authority of 8 minutes settles
		leafLag   = 7  // steps, somewhat less than a third of the life of a certificate
	)
	var (
		all          Authorities
		leaf         Pair
		bundles      [][]byte
		leaves       []Pair
		changes      int
		certificates int
	)
	for now := begin; now.Before(begin.Add(5 * settings.Authority)); now = now.Add(step) {
		renewed, changed, err := all.Renewed("test", settings, now)
		if err != nil {
			t.Fatal(err)
		}
		if all = renewed; changed {
			changes++
		}
		if why := all.Due(leaf, request, now); why != "" {
			certificates++
			if leaf, err = all.Signer(settings, now).Issue(request, settings.Certificate, now); err != nil {
				t.Fatal(err)
			}
		}
		bundles, leaves = last(append(bundles, all.Bundle()), bundleLag), last(append(leaves, leaf), leafLag)
		for _, bundle := range [][]byte{bundles[0], all.Bundle()} { // what is between is none that another one is not
			for _, leaf := range []Pair{leaves[0], leaf} {
				if err := trusts(t, bundle, leaf, now); err != nil {
					t.Fatalf("after %s: %v", now.Sub(begin), err)
				}
			}
		}
		if len(all) > 3 {
			t.Fatalf("after %s there are %d authorities", now.Sub(begin), len(all))
		}
	}
	if changes < 10 || certificates < 25 {
		t.Errorf("the authorities changed %d times, and %d certificates were made: too few to say anything", changes, certificates)
	}
}

func last[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

func TestAuthoritiesAreRenewed(t *testing.T) {
	half, end := begin.Add(settings.Authority/2), begin.Add(settings.Authority)
	first := renewed(t, nil, begin)
	two := renewed(t, first, half)
	for name, test := range map[string]struct {
		all         Authorities
		at          time.Time
		wantKept    int
		wantAll     int
		wantChanged bool
	}{
		"there is none":                                 {nil, begin, 0, 1, true},
		"one that is young stays alone":                 {first, half.Add(-time.Second), 1, 1, false},
		"one that has lived half of its life gets next": {first, half, 1, 2, true},
		"two stay until the first has run out":          {two, half.Add(settings.Authority/2 - time.Second), 2, 2, false},
		"one that has run out goes, and a next comes":   {two, end, 1, 2, true},
		"all have run out":                              {two, end.Add(time.Hour), 0, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, changed, err := test.all.Renewed("test", settings, test.at)
			if err != nil {
				t.Fatal(err)
			}
			kept := 0
			for _, a := range got {
				if slices.Contains(test.all, a) {
					kept++
				}
			}
			if kept != test.wantKept || len(got) != test.wantAll || changed != test.wantChanged {
				t.Errorf("%d were kept of %d, changed %t; want %d of %d, %t", kept, len(got), changed, test.wantKept, test.wantAll, test.wantChanged)
			}
		})
	}
}

func renewed(t *testing.T, all Authorities, now time.Time) Authorities {
	t.Helper()
	next, _, err := all.Renewed("test", settings, now)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func TestWhoSigns(t *testing.T) {
	half := begin.Add(settings.Authority / 2)
	two := renewed(t, renewed(t, nil, begin), half)
	for name, test := range map[string]struct {
		all  Authorities
		at   time.Time
		want *Authority
	}{
		"the only one, at once":                    {two[:1], begin, two[0]},
		"the old one while the new one settles":    {two, half.Add(time.Minute - time.Second), two[0]},
		"the new one once everybody has heard":     {two, half.Add(time.Minute), two[1]},
		"the only one that is left, though no one": {two[1:], half, two[1]},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.all.Signer(settings, test.at); got != test.want {
				t.Errorf("the wrong authority signs")
			}
		})
	}
}

func TestWhatIsDue(t *testing.T) {
	all := renewed(t, nil, begin)
	stranger := renewed(t, nil, begin)
	issue := func(by Authorities, r Request, life time.Duration) Pair {
		p, err := by[0].Issue(r, life, begin)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	good := issue(all, request, settings.Certificate)
	other := issue(all, request, settings.Certificate)
	client := Request{Names: request.Names, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	third := begin.Add(settings.Certificate * 2 / 3)
	for name, test := range map[string]struct {
		pair Pair
		at   time.Time
		want string
	}{
		"none":                             {Pair{}, begin, "there is none"},
		"a new one":                        {good, begin, ""},
		"one with more than a third left":  {good, third.Add(-time.Second), ""},
		"one with a third left":            {good, third, "it ends soon"},
		"one that has run out":             {good, begin.Add(time.Hour), "it ends soon"},
		"the key of another one":           {Pair{good.Certificate, other.Key}, begin, "it cannot be read"},
		"no key":                           {Pair{Certificate: good.Certificate}, begin, "it cannot be read"},
		"garbage":                          {Pair{[]byte("x"), []byte("y")}, begin, "it cannot be read"},
		"other names":                      {issue(all, Request{[]string{"x"}, request.Usages}, time.Hour), begin, "it says something else than it shall"},
		"another usage":                    {issue(all, client, time.Hour), begin, "it says something else than it shall"},
		"one that a stranger has signed":   {issue(stranger, request, time.Minute), begin, "nobody who is trusted has signed it"},
		"longer than its signer: cut off":  {issue(all, request, time.Hour), begin, ""},
		"and due when its signer ends":     {issue(all, request, time.Hour), begin.Add(settings.Authority * 2 / 3), "it ends soon"},
		"before, it is not although early": {issue(all, request, time.Hour), begin.Add(settings.Authority / 2), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := all.Due(test.pair, request, test.at); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAuthoritiesSurviveBeingKept(t *testing.T) {
	all := renewed(t, renewed(t, nil, begin), begin.Add(settings.Authority/2))
	encoded, err := all.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeAuthorities(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !slices.EqualFunc(got, all, func(a, b *Authority) bool { return a.certificate.Equal(b.certificate) && a.key.Equal(b.key) }) {
		t.Errorf("what was kept is something else")
	}
	if none, err := DecodeAuthorities(nil); err != nil || len(none) != 0 {
		t.Errorf("nothing decodes to %v, %v", none, err)
	}
	for name, broken := range map[string][]byte{
		"garbage":                   []byte("x"),
		"cut off in a key":          encoded[:len(encoded)-60],
		"a certificate without key": encodeCertificate(all[0].certificate.Raw),
		"another one's key":         append(encodeCertificate(all[0].certificate.Raw), keyOf(t, all[1])...),
		"a key first":               keyOf(t, all[0]),
	} {
		if got, err := DecodeAuthorities(broken); err == nil {
			t.Errorf("%s decodes to %d authorities", name, len(got))
		}
	}
}

func keyOf(t *testing.T, a *Authority) []byte {
	t.Helper()
	encoded, err := encodeKey(a.key)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func TestSettingsAreChecked(t *testing.T) {
	for name, test := range map[string]struct {
		settings Settings
		want     error
	}{
		"four lives":               {Settings{Authority: 4 * time.Minute, Certificate: time.Minute}, nil},
		"less than four":           {Settings{Authority: 4*time.Minute - 1, Certificate: time.Minute}, errors.New("")},
		"no life":                  {Settings{Authority: time.Minute}, errors.New("")},
		"settled before it begins": {Settings{Authority: time.Hour, Certificate: time.Minute, Settle: -1}, errors.New("")},
	} {
		if err := test.settings.Check(); (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
