using System.Threading.Channels;

namespace Weir.Delivery;

/// <summary>Tells one waiter that it should look again. Set any number of times before it looks, it looks once.</summary>
internal sealed class Signal
{
    private readonly Channel<bool> _channel = Channel.CreateBounded<bool>(new BoundedChannelOptions(1) { FullMode = BoundedChannelFullMode.DropWrite });

    public void Set() => _channel.Writer.TryWrite(true);

    public async ValueTask WaitAsync(CancellationToken cancellationToken) => await _channel.Reader.ReadAsync(cancellationToken).ConfigureAwait(false);
}
