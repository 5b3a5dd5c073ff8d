// Package child starts processes that end with their parent, in whatever way that ends. It is for Linux; elsewhere nothing does that.
package child
