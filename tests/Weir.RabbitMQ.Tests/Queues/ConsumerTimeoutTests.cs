using System.Globalization;
using Weir.RabbitMQ.Tests.Servers;
using Weir.Runtimes;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>A broker of its own that closes the channel of a consumer after a second.</summary>
public sealed class ConsumerTimeoutTests(RabbitServer server) : QueueTest(server)
{
    [Fact(Timeout = Limit)]
    public async Task Host_AMessageIsNotAcknowledgedInTime_TellsItInOneSentenceAndGoesOn()
    {
        string folder = Path.Combine(Path.GetTempPath(), Path.GetRandomFileName());
        try
        {
            (int code, string output, string error) = await ServersScript.RunWithAsync(
                folder,
                "consumer_timeout = 1000\nchannel_tick_interval = 500",
                "up",
                "--while",
                Environment.ProcessId.ToString(CultureInfo.InvariantCulture),
                SharedServers.Rabbit);
            Assert.SkipWhen(code != 0, error);
            Uri broker = new(ServersScript.Connection(output, SharedServers.RabbitVariable)!);
            await using RabbitWorkQueue<string> queue = Queue(broker: broker);
            await queue.SetupAsync();
            await PublishAsync(queue, Values(1));
            await using IWorkSource<string> source = await queue.OpenSourceAsync();
            await using ConcurrentRuntime runtime = new(concurrencyPerCall: 4);
            TaskCompletionSource<Exception> fault = new(TaskCreationOptions.RunContinuationsAsynchronously);
            TaskCompletionSource again = new(TaskCreationOptions.RunContinuationsAsynchronously);
            int calls = 0;
            WorkHost<string> host = new(
                source,
                runtime,
                async (_, _) =>
                {
                    // The first call lasts until the broker has given up waiting, and the next one is quick.
                    if (Interlocked.Increment(ref calls) == 1)
                    {
                        await fault.Task;
                    }
                    else
                    {
                        again.TrySetResult();
                    }
                },
                new WorkHostOptions<string> { DeadLetters = queue.DeadLetters, Serializer = WorkSerializer.Text, OnFault = e => fault.TrySetResult(e) });
            using CancellationTokenSource stop = new();
            Task run = host.RunAsync(stop.Token);
            TimeoutException told = Assert.IsType<TimeoutException>(await fault.Task.WithinAsync("The end of the channel"));
            Assert.Contains("consumer_timeout", told.Message, StringComparison.Ordinal);
            await again.Task.WithinAsync("The item again");
            await stop.CancelAsync();
            await run.WithinAsync("The host");
            Assert.Equal((0, 1), (host.Statistics.DeadLettered, host.Statistics.Faults));
        }
        finally
        {
            await ServersScript.RunAsync(folder, "down");
        }
    }
}
