// Package sso asks an OpenID Connect provider who somebody is, by the device flow: the provider gives a code, the
// person enters it in a browser and logs in there, and the ID token that follows names the person.
//
//	Begin ─▶ code and address for the person ─▶ Finish, again and again ─▶ ErrPending … Identity
//
// The supervisor speaks with the provider itself, so that ID tokens come from nowhere else and no client secret leaves
// it. Nothing is remembered between the calls: a login may begin at one supervisor and end at another.
//
// The package decides nothing about rights. It must never log or return a token, a code in an error, or the client
// secret. Every answer of the provider has a limit of size and time, and so have the calls.
//
// Read first: provider.go, then identity.go.
package sso
