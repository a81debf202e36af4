using System.Threading.Channels;

namespace Weir.Delivery;

/// <summary>Wakes one waiter, so that it checks again. Several signals before it checks count as one.</summary>
internal sealed class Signal
{
    private readonly Channel<bool> _channel = Channel.CreateBounded<bool>(new BoundedChannelOptions(1) { FullMode = BoundedChannelFullMode.DropWrite });

    public void Set() => _channel.Writer.TryWrite(true);

    public async ValueTask WaitAsync(CancellationToken cancellationToken) => await _channel.Reader.ReadAsync(cancellationToken).ConfigureAwait(false);
}
