using System.Diagnostics.CodeAnalysis;
using System.Threading.Channels;

namespace Weir.Core.Sources;

/// <summary>
/// The items of a channel. One worker at a time reads, because the channel may have been created for a single reader.
/// </summary>
internal sealed class ChannelSource<T>(ChannelReader<T> reader) : OneByOneSource<T>
{
    private ValueTask<bool> _waiting;

    public override void OnReady(Action continuation) => _waiting.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    protected override ClaimResult Step(out T? item)
    {
        while (!reader.TryRead(out item))
        {
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

        return ClaimResult.Claimed;
    }

    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Taken out of the field, consumed once.")]
    protected override ClaimResult FinishStep(out T? item)
    {
        ValueTask<bool> waiting = _waiting;
        _waiting = default;
        bool hasMore = waiting.GetAwaiter().GetResult();
        if (hasMore && !IsHeld)
        {
            return Step(out item);
        }

        // While nothing may begin, the item stays in the channel.
        item = default;
        return hasMore ? ClaimResult.Paused : ClaimResult.Empty;
    }
}
