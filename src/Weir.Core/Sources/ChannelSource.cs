using System.Diagnostics.CodeAnalysis;
using System.Threading.Channels;

namespace Weir.Core.Sources;

/// <summary>
/// The items of a channel. One worker at a time reads, because a channel may have been made with the promise of a single reader.
/// </summary>
internal sealed class ChannelSource<T>(ChannelReader<T> reader) : TurnSource<T>
{
    private ValueTask<bool> _waiting;

    public override int KnownCount => -1;

    public override void OnReady(Action continuation) => _waiting.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    protected override ClaimResult Advance(ref Chunk<T> chunk, int max, long index)
    {
        while (true)
        {
            if (reader.TryRead(out T? item))
            {
                chunk.SetSingle(item, index);
                return ClaimResult.Claimed;
            }

            ValueTask<bool> waiting = reader.WaitToReadAsync(CancellationToken);
            if (!waiting.IsCompleted)
            {
                _waiting = waiting;
                return ClaimResult.Pending;
            }

            if (!waiting.GetAwaiter().GetResult())
            {
                return ClaimResult.Empty;
            }
        }
    }

    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Taken out of the field, consumed once.")]
    protected override ClaimResult FinishAdvance(ref Chunk<T> chunk, long index)
    {
        ValueTask<bool> waiting = _waiting;
        _waiting = default;
        return waiting.GetAwaiter().GetResult() ? Advance(ref chunk, 1, index) : ClaimResult.Empty;
    }
}
