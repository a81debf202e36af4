using System.Runtime.CompilerServices;

namespace Weir.Core.Sinks;

/// <summary>Passes outcomes with their index to the consumer of a stream. Every item has one, including items without a result.</summary>
internal readonly struct OutcomeStreamSink<TItem, TResult> : ISink<TResult>
{
    private readonly StreamOutput<(int Index, ItemOutcome<TItem, TResult> Outcome)> _output;
    private readonly OutcomeMaker<TItem, TResult> _maker;
    private readonly int _count;

    /// <param name="output">The stream.</param>
    /// <param name="count">The number of items; negative for those that are read.</param>
    /// <param name="maker">Makes the outcomes.</param>
    public OutcomeStreamSink(
        StreamOutput<(int Index, ItemOutcome<TItem, TResult> Outcome)> output, int count, OutcomeMaker<TItem, TResult> maker)
    {
        _output = output;
        _maker = maker;
        _count = count;
        output.Missing = (count, index => (IndexOf(index), maker.Without(index, ItemStatus.NotRun, null)));
    }

    public bool HasSlots => false;

    public long Ceiling
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _output.Ceiling;
    }

    public Span<TResult> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    public void Succeeded(long index, TResult result) => _output.Add(index, (IndexOf(index), _maker.Success(index, result)));

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _output.Add(index, (IndexOf(index), _maker.Without(index, status, error)));

    public void Complete(RunEnd end)
    {
        // Not later: the outcomes of items that never ran are made under the lock of the stream.
        if (end.Claimed < _count && end.HasResults && !_output.IsLeft)
        {
            _maker.ReadRest(end.Claimed);
        }

        _output.Complete(end);
    }

    // Only an endless stream gets above.
    private static int IndexOf(long index) => (int)Math.Min(index, int.MaxValue);
}
