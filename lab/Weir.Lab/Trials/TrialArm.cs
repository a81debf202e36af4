namespace Weir.Lab.Trials;

/// <summary>One of the things that are compared: a name, and a delegate that runs one pass over the same items as every other arm.</summary>
/// <param name="name">The name in reports. Unique within a run.</param>
/// <param name="expected">The count and checksum that every pass must come to.</param>
/// <param name="pass">Runs one pass. It throws an <see cref="OperationCanceledException"/> when its token is cancelled before it is done.</param>
internal sealed class TrialArm(string name, PassResult expected, Func<CancellationToken, ValueTask<PassResult>> pass)
{
    public string Name => name;

    public PassResult Expected => expected;

    public Func<CancellationToken, ValueTask<PassResult>> Pass => pass;

    /// <summary>Runs a smaller pass, so that the code is compiled and the threads are there; <see langword="null"/> for no warm-up.</summary>
    public Func<CancellationToken, ValueTask>? WarmUp { get; init; }

    /// <summary>
    /// How many items have been done since the arm was made. It only grows, and may be read at any time from any thread: it feeds the
    /// progress display, and tells what was done when a run is stopped in the middle of a pass.
    /// </summary>
    public Func<long> ItemsDone { get; init; } = static () => 0;

    /// <summary>Prepares a window, before its time begins; <see langword="null"/> if there is nothing to prepare.</summary>
    public Func<CancellationToken, ValueTask>? Begin { get; init; }

    /// <summary>Takes what became of the items since it was last asked; <see langword="null"/> for an arm that has no queue.</summary>
    public Func<DeliveryTally>? TakeDelivery { get; init; }
}
