using System.Runtime.CompilerServices;

namespace Weir.Core.Sinks;

/// <summary>Passes outcomes with their index to the consumer of a stream. Every item has one, including items without a result.</summary>
internal readonly struct OutcomeStreamSink<TResult>(StreamOutput<(int Index, ItemOutcome<TResult> Outcome)> output) : IOutcomeSink<TResult>
{
    private readonly StreamOutput<(int Index, ItemOutcome<TResult> Outcome)> _output = output;

    public bool HasSlots => false;

    public long Ceiling
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _output.Ceiling;
    }

    public Span<TResult> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    public void Succeeded(long index, TResult result) => _output.Add(index, (IndexOf(index), ItemOutcome<TResult>.Success(result)));

    public void Unsuccessful(long index, ItemStatus status, Exception? error) =>
        _output.Add(index, (IndexOf(index), ItemOutcome<TResult>.Without(status, error)));

    public void Add(long index, ItemOutcome<TResult> outcome) => _output.Add(index, (IndexOf(index), outcome));

    // The stream makes those itself.
    public bool ReturnsNotRun(RunEnd end) => false;

    public void Complete(RunEnd end) => _output.Complete(end);

    // Only an endless stream gets above.
    private static int IndexOf(long index) => (int)Math.Min(index, int.MaxValue);
}
