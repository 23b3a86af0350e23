package handlers

import (
	"errors"
	"fmt"

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
	notice := map[string]string{"closed": "Taken off the list.", "retried": "Trying again. If it is of no use, it will be back on the list."}[c.Query("done")]
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

// tasksFor lists the open tasks that are this member's business.
func (a *App) tasksFor(c *fiber.Ctx, member models.Staff) ([]models.Task, error) {
	return a.store.ListTasks(c.UserContext(), member, maxTasks)
}

// closeTask takes a task off the list that somebody has seen. Those that leave it by themselves, when their cause is gone, cannot be
// waved away.
func (a *App) closeTask(c *fiber.Ctx) error {
	return a.onTask(c, "closed", func(task models.Task, member models.Staff) error {
		if !views.IsSeen(task) {
			return fmt.Errorf("task %d of kind %s is over when its cause is: %w", task.ID, task.Kind, models.ErrBadMove)
		}
		return a.store.CloseTask(c.UserContext(), task.ID, member.ID)
	})
}

// retryTask does what a task asks for once more.
func (a *App) retryTask(c *fiber.Ctx) error {
	return a.onTask(c, "retried", func(task models.Task, member models.Staff) error {
		if task.Kind == models.TaskRefundFailed {
			return a.cashier.RetryRefund(c.UserContext(), task.Ref, member.ID)
		}
		return a.store.RetryTask(c.UserContext(), task.ID, member.ID)
	})
}

// failedRefunds are the refunds that wait for this member to send them again: the task of each, by the refund's id.
func (a *App) failedRefunds(c *fiber.Ctx, member models.Staff) (map[string]int64, error) {
	if !member.MayRefund() {
		return nil, nil
	}
	tasks, err := a.tasksFor(c, member)
	waiting := map[string]int64{}
	for _, task := range tasks {
		if task.Kind == models.TaskRefundFailed {
			waiting[task.Ref] = task.ID
		}
	}
	return waiting, err
}

// onTask does something about the task in the address, and leads back to the list, or to the task's order when that is where it was pressed. One that is not on this member's list any more, or never was, is 404 with the
// list as it is.
func (a *App) onTask(c *fiber.Ctx, done string, do func(models.Task, models.Staff) error) error {
	taskID, err := rowID(c)
	if err != nil {
		return err
	}
	f, err := readForm(c, field{name: "back", max: 5})
	if err != nil {
		return err
	}
	if back := f.get("back"); back != "" && back != "order" {
		return fmt.Errorf("%w: back to where", errBadForm)
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
		if task.ID != taskID {
			continue
		}
		err := do(task, member)
		if errors.Is(err, models.ErrNotFound) {
			break // somebody was first
		}
		if err != nil {
			return err
		}
		if f.has("back") && task.OrderID != nil {
			return redirect(c, fmt.Sprintf("/staff/orders/%d", *task.OrderID))
		}
		return redirect(c, attentionURL+"?done="+done)
	}
	return a.answerAttention(c, fiber.StatusNotFound, "That is not on your list any more. Nothing was changed.")
}
