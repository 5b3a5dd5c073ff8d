// Package cloud lets programs that import it open stores of S3, Google Cloud Storage and Azure Blob Storage by their URLs. It is
// apart from package store since the providers' libraries are many times larger than everything else in a program.
package cloud

import (
	"errors"
	"net/url"

	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/blob/s3blob"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/aws/smithy-go"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// Importing the drivers registers their schemes with gocloud.dev/blob.
func init() { //nolint:gochecknoinits // as the drivers do, so that one import is enough
	store.Register(s3blob.Scheme, store.Provider{Absent: absentOnS3, Prepare: withoutResponseChecksums})
	store.Register(gcsblob.Scheme, store.Provider{Absent: func(err error) bool { return errors.Is(err, storage.ErrObjectNotExist) }})
	store.Register(azureblob.Scheme, store.Provider{Absent: absentOnAzure})
}

// withoutResponseChecksums has the library check no checksums of what it reads, unless the URL says so: ours are in the objects,
// and for one that was uploaded in parts it would print a warning at each read.
func withoutResponseChecksums(u *url.URL) *url.URL {
	const parameter = "response_checksum_validation"
	query := u.Query()
	if query.Has(parameter) {
		return u
	}
	query.Set(parameter, "when_required")
	changed := *u
	changed.RawQuery = query.Encode()
	return &changed
}

func absentOnS3(err error) bool {
	var answer smithy.APIError
	return errors.As(err, &answer) && (answer.ErrorCode() == "NoSuchKey" || answer.ErrorCode() == "NotFound")
}

func absentOnAzure(err error) bool {
	var answer *azcore.ResponseError
	return errors.As(err, &answer) && answer.ErrorCode == string(bloberror.BlobNotFound)
}
