using System.Threading.Channels;

namespace Weir.Explore.Model;

/// <summary>
/// Channels of the platform, whose operations are one piece each. Their continuations would go to the platform's pool; they are asked for on the thread that
/// completes them, and go to the schedule's pool from there (<see cref="Registrars"/>).
/// </summary>
[Replaces("System.Threading.Channels.Channel")]
internal static class Channels
{
    public static Channel<T> CreateUnbounded<T>() => CreateUnbounded<T>(new UnboundedChannelOptions());

    public static Channel<T> CreateUnbounded<T>(UnboundedChannelOptions options) => Channel.CreateUnbounded<T>(new UnboundedChannelOptions
    {
        AllowSynchronousContinuations = true,
        SingleReader = options.SingleReader,
        SingleWriter = options.SingleWriter,
    });

    public static Channel<T> CreateBounded<T>(int capacity) => CreateBounded<T>(new BoundedChannelOptions(capacity));

    public static Channel<T> CreateBounded<T>(BoundedChannelOptions options) => CreateBounded<T>(options, null);

    public static Channel<T> CreateBounded<T>(BoundedChannelOptions options, Action<T>? itemDropped) => Channel.CreateBounded(
        new BoundedChannelOptions(options.Capacity)
        {
            AllowSynchronousContinuations = true,
            FullMode = options.FullMode,
            SingleReader = options.SingleReader,
            SingleWriter = options.SingleWriter,
        },
        itemDropped);
}
