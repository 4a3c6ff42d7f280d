package sandbox

import (
	"strconv"
	"time"
)

type object = map[string]any

// packageView is the full record (service-facts.md section 7.1), as far as this service knows it.
func (s *Server) packageView(p *pack) object {
	now := s.opt.Now()
	signed, total := 0, 0
	documents, signers := []object{}, []object{}
	for i := range p.Documents {
		d := &p.Documents[i]
		signed, total = signed+d.signed(), total+len(d.Revisions)
		revisions := []object{}
		var before any
		for n, r := range d.Revisions {
			revisions = append(revisions, object{
				"documentId": d.DocumentID, "revisionId": r.RevisionID, "revisionNumber": n + 1, "revisionBeforeId": before,
				"signerId": r.SignerID, "isNext": p.isTurn(d, n, now), "isSigned": r.TimeSigned != nil, "timeSigned": stampOrNil(r.TimeSigned),
			})
			before = r.RevisionID
		}
		documents = append(documents, object{
			"documentId": d.DocumentID, "packageId": p.PackageID, "fileId": d.FileID, "externalId": orNull(d.ExternalID),
			"index": i, "name": d.Name, "fileName": d.FileName, "fileType": "pdf", "fileSize": d.Size, "numberPages": d.Pages,
			"timeUploaded": stamp(d.TimeUploaded), "revisionsSigned": d.signed(), "revisionsCount": len(d.Revisions),
			"cac": true, "isExecuted": d.TimeExecuted != nil, "timeExecuted": stampOrNil(d.TimeExecuted), "revisions": revisions,
		})
	}
	for i := range p.Signers {
		signers = append(signers, s.signerView(p, i, now))
	}
	return object{
		"packageId": p.PackageID, "organizationId": p.OrganizationID, "memberId": p.MemberID,
		"name": p.Name, "type": p.Type, "state": p.stateAt(now), "message": p.Message, "description": p.Description,
		"rescindMessage": p.RescindMessage, "templateId": orNil(p.TemplateID), "externalData": orNull(p.ExternalData),
		"timeCreated": stamp(p.TimeCreated), "timeLastModified": stamp(p.TimeModified), "timeSignBy": stampOrNil(p.TimeSignBy),
		"timeRescinded": stampOrNil(p.TimeRescinded), "timeExecuted": stampOrNil(p.TimeExecuted),
		"isExecuted": p.State == stateExecuted, "revisionsSigned": signed, "revisionsCount": total,
		"api": true, "version": 4, "documents": documents, "signers": signers, "recipients": p.Recipients,
	}
}

func (s *Server) signerView(p *pack, i int, now time.Time) object {
	sg := &p.Signers[i]
	signed := 0
	for _, d := range p.Documents {
		for _, r := range d.Revisions {
			if r.SignerID == sg.SignerID && r.TimeSigned != nil {
				signed++
			}
		}
	}
	v := object{
		"signerId": sg.SignerID, "packageId": p.PackageID, "index": i, "signerTag": "signer_" + strconv.Itoa(i+1),
		"firstName": sg.FirstName, "lastName": sg.LastName, "email": sg.Email, "mobileNumber": nil,
		"role": "signer", "type": "signer", "state": sg.State, "next": p.hasTurn(sg.SignerID, now),
		"revisionsSigned": signed, "revisionsCount": len(p.Documents),
		"declineReason": sg.DeclineReason, "timeDeclined": stampOrNil(sg.TimeDeclined), "timeCreated": stamp(p.TimeCreated),
	}
	if p.SignerLinks {
		v["signLink"] = s.linkURL(sg.LinkToken)
	}
	return v
}

// statusView is the answer of packages/{packageId}/status: service-facts.md section 6, or interface.md alone.
func (s *Server) statusView(p *pack) object {
	now := s.opt.Now()
	documents, signers := []object{}, []object{}
	if s.opt.Bare {
		for _, d := range p.Documents {
			documents = append(documents, object{"documentId": d.DocumentID})
		}
		return object{"packageId": p.PackageID, "state": p.stateAt(now), "documents": documents}
	}
	links := map[string][]object{}
	for i := range p.Documents {
		d := &p.Documents[i]
		revisions := []object{}
		for n, r := range d.Revisions {
			v := object{
				"packageId": p.PackageID, "documentId": d.DocumentID, "revisionId": r.RevisionID, "signerId": r.SignerID,
				"isNext": p.isTurn(d, n, now), "isSigned": r.TimeSigned != nil,
			}
			if sg, ok := p.signer(r.SignerID); ok && p.SignerLinks {
				v["link"] = s.linkURL(sg.LinkToken)
				links[sg.SignerID] = append(links[sg.SignerID], object{
					"token": sg.LinkToken, "packageId": p.PackageID, "documentId": d.DocumentID, "revisionId": r.RevisionID,
					"name": d.Name, "link": s.linkURL(sg.LinkToken), "timeExpires": stampOrNil(p.TimeSignBy), "type": "package_sign",
					"isNext": v["isNext"], "isSigned": v["isSigned"],
				})
			}
			revisions = append(revisions, v)
		}
		documents = append(documents, object{
			"packageId": p.PackageID, "documentId": d.DocumentID, "fileId": d.FileID, "externalId": orNull(d.ExternalID),
			"name": d.Name, "fileName": d.FileName, "order": i + 1, "isExecuted": d.TimeExecuted != nil, "revisions": revisions,
		})
	}
	for i, sg := range p.Signers {
		v := object{
			"signerId": sg.SignerID, "firstName": sg.FirstName, "lastName": sg.LastName, "email": sg.Email,
			"mobileNumber": nil, "order": i + 1, "links": []object{},
		}
		if p.SignerLinks {
			v["links"] = links[sg.SignerID]
		}
		signers = append(signers, v)
	}
	return object{
		"packageId": p.PackageID, "organizationId": p.OrganizationID, "memberId": p.MemberID, "name": p.Name, "type": p.Type,
		"state": p.stateAt(now), "timeSignBy": stampOrNil(p.TimeSignBy), "externalData": orNull(p.ExternalData),
		"isExecuted": p.State == stateExecuted, "documents": documents, "signers": signers,
	}
}

// itemView is one entry of packages/list (service-facts.md section 7).
func (s *Server) itemView(p *pack) object {
	now := s.opt.Now()
	documents, signers := []object{}, []object{}
	for i, d := range p.Documents {
		documents = append(documents, object{
			"documentId": d.DocumentID, "externalId": orNull(d.ExternalID), "index": i, "name": d.Name, "fileName": d.FileName,
			"isExecuted": d.TimeExecuted != nil, "timeExecuted": stampOrNil(d.TimeExecuted),
		})
	}
	for i, sg := range p.Signers {
		signers = append(signers, object{
			"signerId": sg.SignerID, "index": i, "firstName": sg.FirstName, "lastName": sg.LastName, "email": sg.Email,
			"role": "signer", "type": "signer", "verify": nil, "isVerified": false,
			"isNext": p.hasTurn(sg.SignerID, now), "isExecuted": p.signedBy(sg.SignerID),
		})
	}
	return object{
		"packageId": p.PackageID, "organizationId": p.OrganizationID, "memberId": p.MemberID, "name": p.Name, "type": p.Type,
		"state": p.stateAt(now), "timeCreated": stamp(p.TimeCreated), "timeLastModified": stamp(p.TimeModified),
		"timeSignBy": stampOrNil(p.TimeSignBy), "externalData": orNull(p.ExternalData), "isExecuted": p.State == stateExecuted,
		"timeExecuted": stampOrNil(p.TimeExecuted), "documents": documents, "signers": signers, "recipients": p.Recipients,
	}
}

func stampOrNil(t *time.Time) any {
	if t == nil {
		return nil
	}
	return stamp(*t)
}
