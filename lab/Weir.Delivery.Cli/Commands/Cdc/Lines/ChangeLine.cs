namespace Weir.Delivery.Cli.Commands.Cdc.Lines;

/// <summary>A change as a line.</summary>
/// <param name="Json">The change as JSON, without a line break.</param>
/// <param name="Time">When its transaction was committed, by the clock of the server.</param>
internal readonly record struct ChangeLine(string Json, DateTimeOffset Time);
