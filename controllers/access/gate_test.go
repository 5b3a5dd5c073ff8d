package access

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/streamshift/streamshift/internal/gateway"
	"github.com/streamshift/streamshift/internal/routing"
)

var (
	orders  = routing.Stream{Namespace: "shop", Name: "orders"}
	errAway = errors.New("the API server is away")
)

// server is an API server: whom it knows, and what they may do.
type server struct {
	// users by token, and rights as "user verb namespace/name"; a name of "" is every stream.
	users  map[string]string
	rights map[string]bool
	// away has every question fail, hanging leaves it without an answer.
	away, hanging bool
	asked         atomic.Int32
}

func (s *server) answer(ctx context.Context) error {
	s.asked.Add(1)
	switch {
	case s.hanging:
		<-ctx.Done()
		return ctx.Err()
	case s.away:
		return errAway
	}
	return nil
}

func (s *server) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	if err := s.answer(ctx); err != nil {
		return nil, false, err
	}
	name, known := s.users[token]
	return &authenticator.Response{User: &user.DefaultInfo{Name: name}}, known, nil
}

func (s *server) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if err := s.answer(ctx); err != nil {
		return authorizer.DecisionNoOpinion, "", err
	}
	if s.rights[fmt.Sprintf("%s %s %s/%s", a.GetUser().GetName(), a.GetVerb(), a.GetNamespace(), a.GetName())] {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func (*server) ConditionsAwareAuthorize(context.Context, authorizer.Attributes) authorizer.ConditionsAwareDecision {
	panic("not asked")
}

func (*server) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	panic("not asked")
}

func newServer() *server {
	return &server{
		users: map[string]string{"a": "ann", "b": "bob", tokenUntil(time.Now().Add(time.Minute)): "ann"},
		rights: map[string]bool{
			"ann append shop/": true, "ann read shop/": true, "bob read shop/orders": true, "system:anonymous read shop/orders": true,
		},
	}
}

// tokenUntil is a token that says when it runs out.
func tokenUntil(end time.Time) string {
	return "x." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"aud":"streamshift","exp":%d}`, end.Unix())) + ".y"
}

func TestWhoMayDoWhat(t *testing.T) {
	other := routing.Stream{Namespace: "shop", Name: "returns"}
	for name, test := range map[string]struct {
		authorization string
		stream        routing.Stream
		verb          gateway.Verb
		strangers     Strangers
		want          error
		wantText      string
	}{
		"a right on every stream":           {"Bearer a", other, gateway.VerbAppend, StrangersRefused, nil, ""},
		"a right on this one":               {"Bearer b", orders, gateway.VerbRead, StrangersRefused, nil, ""},
		"the scheme in small letters":       {"bearer b", orders, gateway.VerbRead, StrangersRefused, nil, ""},
		"no right on that one":              {"Bearer b", other, gateway.VerbRead, StrangersRefused, gateway.ErrForbidden, `user "bob" cannot read streams.streamshift.io "returns" in namespace "shop"`},
		"another verb":                      {"Bearer b", orders, gateway.VerbAppend, StrangersRefused, gateway.ErrForbidden, "cannot append"},
		"a token of nobody":                 {"Bearer c", orders, gateway.VerbRead, StrangersAnonymous, gateway.ErrUnauthenticated, "does not take the token"},
		"no token":                          {"", orders, gateway.VerbRead, StrangersRefused, gateway.ErrUnauthenticated, "send a token"},
		"no token, where that is anonymous": {"", orders, gateway.VerbRead, StrangersAnonymous, nil, ""},
		"anonymous without the right":       {"", orders, gateway.VerbDelete, StrangersAnonymous, gateway.ErrForbidden, "system:anonymous"},
		"something that is no bearer token": {"Basic x", orders, gateway.VerbRead, StrangersAnonymous, gateway.ErrUnauthenticated, "must be"},
		"a token at the limit, of nobody":   {"Bearer " + strings.Repeat("x", longestToken), orders, gateway.VerbRead, StrangersRefused, gateway.ErrUnauthenticated, "does not take"},
		"a token beyond the limit":          {"Bearer " + strings.Repeat("x", longestToken+1), orders, gateway.VerbRead, StrangersRefused, gateway.ErrUnauthenticated, "bytes"},
		"two tokens":                        {"Bearer a b", orders, gateway.VerbRead, StrangersRefused, gateway.ErrUnauthenticated, "must be"},
		"two tokens with a comma":           {"Bearer a,b", orders, gateway.VerbRead, StrangersRefused, gateway.ErrUnauthenticated, "must be"},
		"no token after the scheme":         {"Bearer", orders, gateway.VerbRead, StrangersRefused, gateway.ErrUnauthenticated, "must be"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			err := newGate(s, s, Options{Strangers: test.strangers, Now: time.Now}).Check(t.Context(), test.authorization, test.stream, test.verb)
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if err != nil && !strings.Contains(err.Error(), test.wantText) {
				t.Errorf("got %q, want %q in it", err, test.wantText)
			}
		})
	}
}

func TestAnswersHoldForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		g := newGate(s, s, Options{Grace: time.Minute, Now: time.Now})
		check := func() error { return g.Check(t.Context(), "Bearer a", orders, gateway.VerbRead) }
		for range 100 {
			if err := check(); err != nil {
				t.Fatal(err)
			}
		}
		if asked := s.asked.Load(); asked != 2 {
			t.Errorf("the API server was asked %d times, want once who it is, and once what they may do", asked)
		}
		delete(s.rights, "ann read shop/")
		pass(2*holdsFor + time.Second)
		if err := check(); !errors.Is(err, gateway.ErrForbidden) {
			t.Errorf("after the right is gone: %v, want forbidden", err)
		}
		s.away = true
		if err := check(); !errors.Is(err, gateway.ErrForbidden) && !errors.Is(err, errAway) {
			t.Errorf("what was denied is %v when the API server is away", err)
		}
	})
}

func TestWhileTheAPIServerIsAway(t *testing.T) {
	for name, goAway := range map[string]func(*server){
		"it refuses": func(s *server) { s.away = true },
		"it hangs":   func(s *server) { s.hanging = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				g := newGate(s, s, Options{Grace: 10 * time.Minute, Now: time.Now})
				short := tokenUntil(time.Now().Add(time.Minute))
				s.users[short] = "ann"
				check := func(token string, verb gateway.Verb) error {
					return g.Check(t.Context(), "Bearer "+token, orders, verb)
				}
				for _, token := range []string{"a", short} {
					if err := check(token, gateway.VerbRead); err != nil {
						t.Fatal(err)
					}
				}
				goAway(s)
				pass(30 * time.Second)
				begun := time.Now()
				for range 100 {
					if err := check("a", gateway.VerbRead); err != nil {
						t.Fatalf("what was allowed before is refused: %v", err)
					}
				}
				if took := time.Since(begun); took > patience {
					t.Errorf("100 requests waited %s in all, want %s at most: for the first of them", took, patience)
				}
				if err := check(short, gateway.VerbRead); err != nil {
					t.Errorf("with a token that has not run out: %v", err)
				}
				for what, err := range map[string]error{
					"a verb that was not asked about": check("a", gateway.VerbAppend), "a token that was not": check("b", gateway.VerbRead),
				} {
					if err == nil || errors.Is(err, gateway.ErrUnauthenticated) || errors.Is(err, gateway.ErrForbidden) {
						t.Errorf("%s: %v, want that nobody can tell", what, err)
					}
				}
				pass(time.Minute)
				if err := check(short, gateway.VerbRead); err == nil {
					t.Error("a token that has run out is taken")
				}
				pass(10 * time.Minute)
				if err := check("a", gateway.VerbRead); err == nil {
					t.Error("what was allowed is allowed beyond the grace")
				}
				s.away, s.hanging = false, false
				pass(askTimeout)
				if err := check("a", gateway.VerbRead); err != nil {
					t.Errorf("with the API server back: %v", err)
				}
				pass(2 * askTimeout) // until the last question is given up
			})
		})
	}
}

func TestQuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.hanging = true
		g := newGate(s, s, Options{Now: time.Now})
		refused := make(chan error, questions+1)
		for i := range questions + 1 {
			go func() { refused <- g.Check(t.Context(), fmt.Sprintf("Bearer %d", i), orders, gateway.VerbRead) }()
		}
		synctest.Wait()
		if err := <-refused; !errors.Is(err, errBusy) {
			t.Errorf("the question beyond the limit: %v, want %v", err, errBusy)
		}
		for range questions {
			<-refused
		}
		pass(2 * askTimeout)
	})
}

func TestWhatATokenSaysOfItself(t *testing.T) {
	encode := func(claims string) string { return "x." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".y" }
	for token, want := range map[string]string{
		encode(`{"aud":"one","exp":5}`):    "[one] 5",
		encode(`{"aud":["one","two"]}`):    "[one two] 0",
		encode(`{"aud":7}`):                "[] 0",
		encode(`nothing`):                  "[] 0",
		"opaque":                           "[] 0",
		"x.%%%.y":                          "[] 0",
		"a.b.c.d":                          "[] 0",
		encode(`{"exp":"tomorrow"}`):       "[] 0",
		encode(`{"aud":null,"exp":1e300}`): "[] 0",
	} {
		if c := claimsOf(token); fmt.Sprintf("%v %d", []string(c.Audiences), c.Expiry) != want {
			t.Errorf("%q says %v, want %s", token, c, want)
		}
	}
}

// pass lets time pass in a bubble.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // it waits for nothing, the clock is the test's
}
