package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/lru"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/gateway"
	"github.com/streamshift/streamshift/internal/routing"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

const (
	// holdsFor is how long what the API server says of a token, and of a user, holds, and how long what was made from both. What is revoked
	// is refused after twice as long at the latest.
	holdsFor = 10 * time.Second
	// askTimeout bounds one question; patience how long a request waits for it where the answer of before is known.
	askTimeout = 5 * time.Second
	patience   = 500 * time.Millisecond
	// askAgainAfter is how long an answer of before is used without asking again, after the API server did not answer.
	askAgainAfter = 2 * time.Second
	// questions bounds what is asked at the same time, answers what is remembered.
	questions = 128
	answers   = 16384
	// questionsPerSecond bounds each of the two kinds of questions.
	questionsPerSecond = 500
)

// Strangers says what becomes of requests without a token.
type Strangers int

const (
	// StrangersRefused is the default.
	StrangersRefused Strangers = iota
	// StrangersAnonymous are asked about as system:anonymous of the group system:unauthenticated, as the API server does.
	StrangersAnonymous
)

// Options of a Gate.
type Options struct {
	Strangers Strangers
	// Audience is what tokens may be made for, besides the API server itself.
	Audience string
	// Grace is for how long what was allowed stays allowed while the API server cannot be asked.
	Grace time.Duration
	Now   func() time.Time
}

// Gate implements gateway.Access.
type Gate struct {
	options Options
	tokens  authenticator.Token
	rules   authorizer.Authorizer
	// allowed remembers what was allowed, by a hash of token, verb and stream.
	allowed *lru.Cache
	asked   singleflight.Group
	asking  chan struct{}
}

// answer is what is remembered of one that was yes.
type answer struct {
	// at is when the API server said so, askAgain when it is worth to ask again.
	at, askAgain time.Time
}

// New returns a gate that asks the API server.
func New(config *rest.Config, httpClient *http.Client, options Options) (*Gate, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = questionsPerSecond, 2*questionsPerSecond
	authentication, err := authenticationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making a client for token reviews: %w", err)
	}
	authorization, err := authorizationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making a client for access reviews: %w", err)
	}
	rules, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: authorization,
		AllowCacheTTL:             holdsFor,
		DenyCacheTTL:              holdsFor,
		WebhookRetryBackoff:       &wait.Backoff{Steps: 1},
	}.New()
	if err != nil {
		return nil, fmt.Errorf("making the authorizer: %w", err)
	}
	return newGate(&reviewer{client: authentication.TokenReviews(), audience: options.Audience}, rules, options), nil
}

func newGate(tokens authenticator.Token, rules authorizer.Authorizer, options Options) *Gate {
	return &Gate{
		options: options, tokens: cache.New(bounded{tokens}, false, holdsFor, holdsFor), rules: rules,
		allowed: lru.New(answers), asking: make(chan struct{}, questions),
	}
}

// bounded gives up on a question as the gate does; the cache in front of it would wait longer.
type bounded struct{ authenticator.Token }

// AuthenticateToken implements authenticator.Token.
func (b bounded) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return b.Token.AuthenticateToken(ctx, token) //nolint:wrapcheck // it says what was asked
}

var (
	errSlow = errors.New("the API server did not answer in time")
	errBusy = errors.New("too much is asked of the API server")
)

// Check implements gateway.Access.
func (g *Gate) Check(ctx context.Context, authorization string, stream routing.Stream, verb gateway.Verb) error {
	token, err := bearer(authorization)
	if err != nil {
		return err
	}
	if token == "" && g.options.Strangers == StrangersRefused {
		return fmt.Errorf("%w: send a token, by the header \"Authorization: Bearer TOKEN\"", gateway.ErrUnauthenticated)
	}
	key := sha256.Sum256([]byte(token + "\x00" + string(verb) + "\x00" + stream.String()))
	now := g.options.Now()
	before, known := g.remembered(key)
	if known && now.Before(before.askAgain) && (now.Sub(before.at) < holdsFor || !claimsOf(token).expired(now)) {
		return nil
	}
	err = g.ask(ctx, key, known, token, stream, verb)
	if err == nil || errors.Is(err, gateway.ErrUnauthenticated) || errors.Is(err, gateway.ErrForbidden) {
		return err
	}
	if known && !claimsOf(token).expired(now) {
		before.askAgain = now.Add(askAgainAfter)
		g.allowed.Add(key, before)
		return nil
	}
	return err
}

// remembered returns what the API server allowed within the grace.
func (g *Gate) remembered(key [sha256.Size]byte) (answer, bool) {
	found, ok := g.allowed.Get(key)
	if !ok {
		return answer{}, false
	}
	before, ok := found.(answer)
	return before, ok && g.options.Now().Sub(before.at) < max(g.options.Grace, holdsFor)
}

// ask asks the API server, once for all who want to know the same, and remembers that it said yes. What it says after they have lost
// their patience is remembered, too.
func (g *Gate) ask(ctx context.Context, key [sha256.Size]byte, known bool, token string, stream routing.Stream, verb gateway.Verb) error {
	result := g.asked.DoChan(string(key[:]), func() (any, error) {
		select {
		case g.asking <- struct{}{}:
		default:
			return nil, errBusy
		}
		defer func() { <-g.asking }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer cancel()
		err := g.review(ctx, token, stream, verb)
		now := g.options.Now()
		switch {
		case err == nil:
			g.allowed.Add(key, answer{at: now, askAgain: now.Add(holdsFor)})
		case errors.Is(err, gateway.ErrUnauthenticated), errors.Is(err, gateway.ErrForbidden):
			g.allowed.Remove(key)
		}
		return nil, err
	})
	wait := askTimeout
	if known {
		wait = patience
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case r := <-result:
		return r.Err //nolint:wrapcheck // it is said by review
	case <-timer.C:
		return errSlow
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // the client is gone
	}
}

// review asks who it is, and whether they may.
func (g *Gate) review(ctx context.Context, token string, stream routing.Stream, verb gateway.Verb) error {
	var who user.Info = &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}
	if token != "" {
		response, ok, err := g.tokens.AuthenticateToken(ctx, token)
		if err != nil {
			return err //nolint:wrapcheck // it says what was asked
		}
		if !ok {
			return fmt.Errorf("%w: the API server does not take the token", gateway.ErrUnauthenticated)
		}
		who = response.User
	}
	asked := authorizer.AttributesRecord{
		User: who, Verb: string(verb), Namespace: stream.Namespace, ResourceRequest: true,
		APIGroup: v1alpha1.GroupVersion.Group, APIVersion: v1alpha1.GroupVersion.Version, Resource: "streams",
	}
	// Who may do it to every stream of the namespace is asked about once, and not for each of them.
	for _, asked.Name = range []string{"", stream.Name} {
		decision, _, err := g.rules.Authorize(ctx, asked)
		switch {
		case err != nil:
			return fmt.Errorf("asking the API server what somebody may do: %w", err)
		case decision == authorizer.DecisionAllow:
			return nil
		}
	}
	return fmt.Errorf("%w: user %q cannot %s streams.%s %q in namespace %q",
		gateway.ErrForbidden, who.GetName(), verb, v1alpha1.GroupVersion.Group, stream.Name, stream.Namespace)
}
