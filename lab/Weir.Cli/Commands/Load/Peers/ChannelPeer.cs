using System.Threading.Channels;

namespace Weir.Cli.Commands.Load.Peers;

/// <summary>A bounded channel, a writer, and a few workers that read it.</summary>
internal sealed class ChannelPeer : Peer
{
    private const int Capacity = 1024;

    public override string Name => "channel + workers";

    public override async Task RunAsync(PeerBatch batch)
    {
        Channel<int> channel = Channel.CreateBounded<int>(new BoundedChannelOptions(Capacity) { SingleWriter = true });
        Task[] workers = new Task[batch.Degree];
        for (int i = 0; i < workers.Length; i++)
        {
            workers[i] = Task.Run(() => ReadAsync(channel, batch), CancellationToken.None);
        }

        Exception? error = null;
        try
        {
            foreach (int item in batch.Items)
            {
                await channel.Writer.WriteAsync(item, batch.Token).ConfigureAwait(false);
            }
        }
        catch (Exception e)
        {
            error = e;
        }

        channel.Writer.TryComplete(error);
        await Task.WhenAll(workers).ConfigureAwait(false);
    }

    private static async Task ReadAsync(Channel<int> channel, PeerBatch batch)
    {
        try
        {
            await foreach (int item in channel.Reader.ReadAllAsync(batch.Token).ConfigureAwait(false))
            {
                await batch.RunAsync(item).ConfigureAwait(false);
            }
        }
        catch (Exception e)
        {
            // Or the writer would wait for ever for a worker that is gone.
            channel.Writer.TryComplete(e);
            throw;
        }
    }
}
