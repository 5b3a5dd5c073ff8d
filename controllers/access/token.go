package access

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"

	"github.com/streamshift/streamshift/internal/gateway"
)

// longestToken bounds a token, in bytes.
const longestToken = 16 << 10

// bearer returns the token of an Authorization header (RFC 6750); "" where there is no header.
func bearer(authorization string) (string, error) {
	if authorization == "" {
		return "", nil
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsAny(token, " ,") {
		return "", fmt.Errorf("%w: the Authorization header must be \"Bearer\" and a token", gateway.ErrUnauthenticated)
	}
	if len(token) > longestToken {
		return "", fmt.Errorf("%w: the token has more than %d bytes", gateway.ErrUnauthenticated, longestToken)
	}
	return token, nil
}

// claims are what a token says of itself. Nothing is allowed for what they say.
type claims struct {
	Audiences audiences `json:"aud"`
	// Expiry is in seconds since 1970; 0: none is said.
	Expiry int64 `json:"exp"`
}

// audiences are one string or several.
type audiences []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audiences) UnmarshalJSON(encoded []byte) error {
	var one string
	if json.Unmarshal(encoded, &one) == nil {
		*a = audiences{one}
		return nil
	}
	return json.Unmarshal(encoded, (*[]string)(a)) //nolint:wrapcheck // who parses a token does not look at what is wrong
}

// claimsOf reads a token; one that is no JSON web token says nothing.
func claimsOf(token string) claims {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claims{}
	}
	var c claims
	if json.Unmarshal(payload, &c) != nil {
		return claims{}
	}
	return c
}

func (c claims) expired(now time.Time) bool { return c.Expiry != 0 && now.Unix() >= c.Expiry }

// reviewer asks the API server who a token belongs to.
type reviewer struct {
	client authenticationclient.TokenReviewInterface
	// audience is what tokens may be made for, besides the API server itself.
	audience string
}

// AuthenticateToken implements authenticator.Token. An error is that the API server could not be asked.
func (r *reviewer) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	// A token that was made for gateways is good for nothing else. Any other one must be good for the API server, as kubectl's are.
	forGateways := r.audience != "" && slices.Contains(claimsOf(token).Audiences, r.audience)
	if forGateways {
		review.Spec.Audiences = []string{r.audience}
	}
	review, err := r.client.Create(ctx, review, metav1.CreateOptions{})
	switch {
	case err != nil:
		return nil, false, errors.New("asking the API server who a token belongs to failed") // the error could have the token
	case !review.Status.Authenticated:
		return nil, false, nil
	case forGateways && !slices.Contains(review.Status.Audiences, r.audience):
		return nil, false, nil // it does not look at audiences
	}
	said := review.Status.User
	info := &user.DefaultInfo{Name: said.Username, UID: said.UID, Groups: said.Groups, Extra: map[string][]string{}}
	for key, values := range said.Extra {
		info.Extra[key] = values
	}
	if !slices.Contains(info.Groups, user.AllAuthenticated) {
		info.Groups = append(slices.Clone(info.Groups), user.AllAuthenticated)
	}
	return &authenticator.Response{User: info}, true, nil
}
