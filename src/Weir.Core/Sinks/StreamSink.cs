using System.Runtime.CompilerServices;

namespace Weir.Core.Sinks;

/// <summary>Passes results to the consumer of a stream.</summary>
internal readonly struct StreamSink<TResult>(StreamOutput<TResult> output) : ISink<TResult>
{
    private readonly StreamOutput<TResult> _output = output;

    public bool HasSlots => false;

    public long Ceiling
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _output.Ceiling;
    }

    public long Undelivered(long ended) => _output.Undelivered(ended);

    public Span<TResult> Slots(long first, int count) => default;

    public void Succeeded(long index, TResult result) => _output.Add(index, result);

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _output.Skip(index);

    public void Complete(RunEnd end) => _output.Complete(end);
}
