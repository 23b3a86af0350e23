package jobs

import (
	"time"

	"github.com/riverqueue/river"

	"tiffin/models"
)

// timetable says how often each sweep runs, on one process of all; each also runs when a process starts to lead. What is due is
// judged by the rows and the database's clock; these periods only bound how late it is noticed.
func timetable() []*river.PeriodicJob {
	return []*river.PeriodicJob{
		every[models.SweepRefundsArgs](5 * time.Second),
		every[models.ResolveClaimsArgs](10 * time.Second), // a claim whose process died blocks its customer until then
		every[models.SettleShortagesArgs](10 * time.Second),
		every[models.ReconcileArgs](time.Minute),
		every[models.SweepEventsArgs](time.Minute),
		every[models.SweepLettersArgs](time.Minute),
		every[models.SweepPushesArgs](time.Minute),
		every[models.WatchDeadlinesArgs](time.Minute),
		every[models.RefreshTasksArgs](time.Minute),
		every[models.CheckInvariantsArgs](5 * time.Minute),
		every[models.AskReviewsArgs](time.Hour),
		every[models.ReconcileAccountArgs](time.Hour),
		every[models.ReconcileDisputesArgs](time.Hour),     // a deadline is days away
		every[models.RecordSettlementsArgs](6 * time.Hour), // payouts come once or twice a working day; what was missed is read again
		every[models.ReconcileWeekArgs](24 * time.Hour),
		every[models.PurgeArgs](24 * time.Hour),
	}
}

func every[T river.JobArgs](period time.Duration) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(period/pace), func() (river.JobArgs, *river.InsertOpts) {
		var args T
		return args, models.SweepOpts()
	}, &river.PeriodicJobOpts{RunOnStart: true})
}
