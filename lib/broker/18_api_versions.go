package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ApiVersions (v0-3): which requests are served, and in which versions.
//
//   - Any version above 3 is answered with v0, UNSUPPORTED_VERSION and the range of this very request, so that the
//     client can ask again (KIP-511). Its body is not looked at.
//   - The header of the answer has no tagged fields in any version.
//   - v3 adds the client's software name and version, which are not used.
func handleAPIVersions(c *conn, req kmsg.Request, correlation int32) (answer, error) {
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	for _, row := range c.broker.apis.rows {
		resp.ApiKeys = append(resp.ApiKeys, apiRange(row))
	}
	return respond(resp, correlation)
}

// refuseAPIVersions answers an ApiVersions request of a version that is too high.
func refuseAPIVersions(apis *apiTable, correlation int32) (answer, error) {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = kerr.UnsupportedVersion.Code
	resp.ApiKeys = append(resp.ApiKeys, apiRange(*apis.find(int16(kmsg.ApiVersions))))
	return respond(resp, correlation)
}

func apiRange(row api) kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = row.key.Int16(), row.min, row.max
	return k
}
