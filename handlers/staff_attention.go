package handlers

import (
	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

const (
	attentionURL = "/staff/attention"
	jobsURL      = "/staff/jobs/"

	// maxTasks is how many open tasks are read at once. The list is normally empty; a shop with more has another problem than this page.
	maxTasks = 200
)

// showAttention shows what waits for a person.
func (a *App) showAttention(c *fiber.Ctx) error {
	notice := ""
	if c.Query("done") == "closed" {
		notice = "Taken off the list."
	}
	return a.answerAttention(c, fiber.StatusOK, notice)
}

func (a *App) answerAttention(c *fiber.Ctx, status int, notice string) error {
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return err
	}
	page, err := a.page(c, "", outlet)
	if err != nil {
		return err
	}
	view := views.StaffAttentionView{Page: page, Staff: shiftOf(c).member, Notice: notice}
	if view.Tasks, err = a.tasksFor(c, view.Staff); err != nil {
		return err
	}
	if a.deps.Jobs != nil && ownsAll(view.Staff) {
		view.JobsURL = jobsURL
	}
	return a.render(c, status, views.StaffAttentionPage(view))
}

// tasksFor lists the open tasks that are this member's business: those about orders of their outlet, and those about the gateway account,
// which all outlets share, for whoever may refund.
func (a *App) tasksFor(c *fiber.Ctx, member models.Staff) (theirs []models.Task, err error) {
	tasks, err := a.store.ListTasks(c.UserContext(), maxTasks)
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		if task.OrderID == nil {
			if member.MayRefund() {
				theirs = append(theirs, task)
			}
			continue
		}
		if member.OutletID != nil {
			order, err := a.store.FindOrder(c.UserContext(), *task.OrderID)
			if err != nil {
				return nil, err
			}
			if order.OutletID != *member.OutletID {
				continue
			}
		}
		theirs = append(theirs, task)
	}
	return theirs, nil
}

// closeTask takes a task off the list. One that is not on this member's list any more, or never was, is 404 with the list as it is.
func (a *App) closeTask(c *fiber.Ctx) error {
	taskID, err := rowID(c)
	if err != nil {
		return err
	}
	if _, err := readForm(c); err != nil {
		return err
	}
	if isStale(c) {
		return a.answerAttention(c, fiber.StatusConflict, staleNotice)
	}
	member := shiftOf(c).member
	tasks, err := a.tasksFor(c, member)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		if task.ID == taskID {
			if err := a.store.CloseTask(c.UserContext(), taskID, member.ID); err != nil {
				return err
			}
			return redirect(c, attentionURL+"?done=closed")
		}
	}
	return a.answerAttention(c, fiber.StatusNotFound, "That is not on your list any more. Nothing was changed.")
}
