namespace Weir.Cli.Commands.Load.Work;

/// <summary>The work that is done for each item, and what its result must be.</summary>
/// <remarks>Results are not negative: <see cref="Failed"/> stands for the result of an item that is meant to fail.</remarks>
internal abstract class LoadWork : IDisposable
{
    /// <summary>The result that stands for a failure.</summary>
    public const int Failed = int.MinValue;

    /// <summary>Does the work. It is a field and not a method, so that all arms call the very same delegate.</summary>
    public abstract Func<int, CancellationToken, ValueTask<int>> Processor { get; }

    /// <summary>What is done, for the report.</summary>
    public abstract string Description { get; }

    /// <summary>The result that an item must have, found without doing the work.</summary>
    public abstract int Expect(int item);

    /// <inheritdoc/>
    public void Dispose() => End();

    /// <summary>Ends what the work has running.</summary>
    protected virtual void End()
    {
    }
}
