namespace Weir.Delivery.Cli.Commands.Cdc.Targets;

/// <summary>
/// Runs a command for some lines at a time, in order, which are done when its exit code is 0. One that fails is repeated, and ends the stream at last: what
/// comes behind must not overtake it.
/// </summary>
/// <param name="command">The command.</param>
/// <param name="most">How many lines it gets at most.</param>
/// <param name="attempts">How often it is tried.</param>
/// <param name="delays">How long each next attempt waits; the last holds for all others.</param>
/// <param name="clock">The clock of the delays.</param>
/// <param name="onFailure">Hears of attempts that failed and are repeated.</param>
internal sealed class CommandLines(
    ItemCommand command, int most, int attempts, IReadOnlyList<TimeSpan> delays, TimeProvider clock, Action<Exception> onFailure) : IWorkSink<ChangeLine>
{
    public async ValueTask WriteAsync(IReadOnlyList<WorkItem<ChangeLine>> items, string? position, CancellationToken cancellationToken)
    {
        foreach (WorkItem<ChangeLine>[] some in items.Chunk(most))
        {
            await RunAsync([.. some.Select(static i => i.With(i.Value.Json))], cancellationToken);
        }
    }

    public ValueTask DisposeAsync() => default;

    private async ValueTask RunAsync(WorkItem<string>[] items, CancellationToken cancellationToken)
    {
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                await command.RunAsync(items, cancellationToken);
                return;
            }
            catch (CommandFailedException e) when (attempt < attempts)
            {
                onFailure(e);
            }
            catch (CommandFailedException e)
            {
                throw new WorkSetupException(
                    Invariant($"{e.Message} This was attempt {attempt} of {attempts} for the {items.Length} changes from {items[0].Id}; ")
                        + "they come again, with those behind.",
                    e);
            }

            await Task.Delay(delays[Math.Min(attempt, delays.Count) - 1], clock, cancellationToken);
        }
    }
}
