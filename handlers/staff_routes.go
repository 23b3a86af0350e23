package handlers

import "github.com/gofiber/fiber/v2"

// staffRoutes registers everything below /staff.
func (a *App) staffRoutes(r fiber.Router) {}
