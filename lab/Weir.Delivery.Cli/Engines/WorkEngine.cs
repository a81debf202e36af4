namespace Weir.Delivery.Cli.Engines;

/// <summary>An engine.</summary>
/// <param name="Name">Its name in commands.</param>
/// <param name="Variable">The variable with the address of its server; <see langword="null"/> if it has no server.</param>
/// <param name="Form">What its addresses look like.</param>
/// <param name="Recognizes">Whether an address is one of its.</param>
/// <param name="Open">Opens the queue.</param>
internal sealed record WorkEngine(
    string Name, string? Variable, string Form, Func<string, bool> Recognizes, Func<OptionValue, EngineOrder, OpenedQueue> Open);

/// <summary>What to open at an address.</summary>
/// <param name="Name">The name of the queue.</param>
/// <param name="KeepsKeyOrder">Whether items of one key are in order across consumers.</param>
/// <param name="Schema">The schema of its tables, for engines that have them; <see langword="null"/> for the usual one.</param>
internal sealed record EngineOrder(string Name, bool KeepsKeyOrder, string? Schema)
{
    /// <summary>How many items travel together; <see langword="null"/> for as many as usual.</summary>
    public int? ItemsPerMessage { get; init; }

    /// <summary>Gets a sentence when the server makes the caller wait, or no longer; <see langword="null"/> if nobody listens.</summary>
    public Action<string>? OnNotice { get; init; }

    /// <summary>Whether the queue is there for one command only, which drops it at the end. Nothing else may have its name.</summary>
    public bool IsTemporary { get; init; }
}

/// <summary>A queue, and what an engine can do besides.</summary>
internal sealed class OpenedQueue : IAsyncDisposable
{
    public required IWorkQueue<string> Queue { get; init; }

    /// <summary>Whether the items outlive this process. If not, only a command that also publishes them can process them.</summary>
    public required bool IsDurable { get; init; }

    /// <summary>Says that nothing more comes, so that the run ends with the last item; <see langword="null"/> if others may publish too.</summary>
    public Action? Complete { get; init; }

    /// <summary>
    /// Publishes items that wait for a time, and says how many of them were not published before; <see langword="null"/> if the engine cannot.
    /// </summary>
    public Func<IReadOnlyList<WorkItem<string>>, TimeSpan, CancellationToken, ValueTask<int>>? PublishNew { get; init; }

    /// <summary>How many messages a call that publishes sends before it waits for the engine.</summary>
    public int MessagesPerCall { get; init; } = 1;

    /// <summary>
    /// Removes a temporary queue and all that was set up for it, if it is there; <see langword="null"/> if nothing of it outlives this object.
    /// </summary>
    public Func<CancellationToken, ValueTask>? DropAsync { get; init; }

    /// <summary>What else ends with the queue.</summary>
    public IAsyncDisposable? Connections { get; init; }

    public async ValueTask DisposeAsync()
    {
        await Queue.DisposeAsync();
        if (Connections is not null)
        {
            await Connections.DisposeAsync();
        }
    }
}
