using System.Threading.Channels;

namespace Weir.Explore.Model;

[Replaces("System.Threading.Channels.Channel")]
internal static class Channels
{
    public static Channel<T> CreateUnbounded<T>() => new ChannelModel<T>(int.MaxValue, BoundedChannelFullMode.Wait, null);

    public static Channel<T> CreateUnbounded<T>(UnboundedChannelOptions options) => CreateUnbounded<T>();

    public static Channel<T> CreateBounded<T>(int capacity) => CreateBounded<T>(new BoundedChannelOptions(capacity));

    public static Channel<T> CreateBounded<T>(BoundedChannelOptions options) => CreateBounded<T>(options, null);

    public static Channel<T> CreateBounded<T>(BoundedChannelOptions options, Action<T>? itemDropped) =>
        new ChannelModel<T>(options.Capacity, options.FullMode, itemDropped);
}
