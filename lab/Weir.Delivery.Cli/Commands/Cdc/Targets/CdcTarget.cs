namespace Weir.Delivery.Cli.Commands.Cdc.Targets;

/// <summary>Where lines go.</summary>
internal sealed class CdcTarget : IAsyncDisposable
{
    private readonly IWorkQueue<string> _queue;
    private readonly IWorkSink<ChangeLine>? _lines;
    private readonly OpenedQueue? _opened;

    /// <summary>Lines for a program or for the output.</summary>
    /// <param name="name">What it is called in messages.</param>
    /// <param name="lines">Takes the lines.</param>
    /// <param name="letters">The queue whose dead letters are of changes that cannot be read.</param>
    /// <param name="takesBatches">See <see cref="TakesBatches"/>.</param>
    public CdcTarget(string name, IWorkSink<ChangeLine> lines, IWorkQueue<string> letters, bool takesBatches = false)
    {
        Name = name;
        TakesBatches = takesBatches;
        _lines = lines;
        _queue = letters;
    }

    /// <summary>Lines for a queue.</summary>
    public CdcTarget(OpenedQueue opened)
    {
        Name = $"the queue {opened.Queue.Name}";
        _opened = opened;
        _queue = opened.Queue;
    }

    /// <summary>What it is called in messages.</summary>
    public string Name { get; }

    /// <summary>Whether lines go to a queue.</summary>
    public bool IsQueue => _opened is not null;

    /// <summary>Whether each batch is done before the next one is read, so that no more comes again than has to.</summary>
    public bool TakesBatches { get; }

    /// <summary>Where a line goes that it can never take, and a change that cannot be read.</summary>
    public IDeadLetters DeadLetters => _queue.DeadLetters;

    public Task SetupAsync(CancellationToken stop) => _queue.SetupAsync(stop);

    public async ValueTask<IWorkSink<ChangeLine>> OpenAsync(CancellationToken stop)
    {
        // Of a queue that takes dead letters alone, too: this is where a missing one is noticed.
        IWorkSink<string> sink = await _queue.OpenSinkAsync(stop);
        if (_lines is null)
        {
            return new QueueLines(sink);
        }

        await sink.DisposeAsync();
        return _lines;
    }

    public ValueTask DisposeAsync() => _opened?.DisposeAsync() ?? _queue.DisposeAsync();
}

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
                        + "they are delivered again, with those that follow.",
                    e);
            }

            await Task.Delay(delays[Math.Min(attempt, delays.Count) - 1], clock, cancellationToken);
        }
    }
}

/// <summary>Prints lines. They are done when the output has taken them.</summary>
internal sealed class OutputLines(ILineOutput output) : IWorkSink<ChangeLine>
{
    // Whoever reads the output may stop reading without closing it, and nothing ends such a write: it is left behind when the time is up.
    public async ValueTask WriteAsync(IReadOnlyList<WorkItem<ChangeLine>> items, string? position, CancellationToken cancellationToken) =>
        await Task.Run(() => Write(items), CancellationToken.None).WaitAsync(cancellationToken);

    public ValueTask DisposeAsync() => default;

    private void Write(IReadOnlyList<WorkItem<ChangeLine>> items)
    {
        try
        {
            output.Write(items.Select(static item => item.Value.Json));
        }
        catch (OutputException e)
        {
            throw new WorkSetupException($"{e.Message} What it has not taken is delivered again.", e);
        }
    }
}

/// <summary>Publishes lines. Each keeps its identity, so that one which is published again can be told, and the key of its order.</summary>
internal sealed class QueueLines(IWorkSink<string> queue) : IWorkSink<ChangeLine>
{
    public ValueTask WriteAsync(IReadOnlyList<WorkItem<ChangeLine>> items, string? position, CancellationToken cancellationToken) =>
        items.Count == 0 ? default : queue.WriteAsync([.. items.Select(static i => i.With(i.Value.Json))], position: null, cancellationToken);

    public ValueTask DisposeAsync() => queue.DisposeAsync();
}
