using MassTransit;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Weir.Lab.Queues.Arms;

/// <summary>MassTransit on RabbitMQ: a receive endpoint on a quorum queue, to whose exchange items are sent. Publisher confirms are on by default.</summary>
internal sealed class MassTransitArm(QueueAddress address) : IQueueArm
{
    private readonly List<IHost> _hosts = [];
    private ISendEndpoint? _endpoint;

    public async Task OpenAsync()
    {
        await BrokerQueues.DeclareAsync(address);
        IHost host = await StartHostAsync(new ItemWork(static _ => Task.CompletedTask), receives: false);
        _hosts.Add(host);
        _endpoint = await host.Services.GetRequiredService<IBus>().GetSendEndpoint(new Uri($"exchange:{address.Queue}"));
    }

    public Task PublishAsync(QueueItem item) => _endpoint!.Send(item);

    public async Task StartAsync(Func<QueueItem, Task> handle) => _hosts.Add(await StartHostAsync(new ItemWork(handle), receives: true));

    public Task DeleteAsync() =>
        BrokerQueues.DeleteAsync(address, [address.Queue, $"{address.Queue}_error", $"{address.Queue}_skipped"]);

    public async ValueTask DisposeAsync()
    {
        foreach (IHost host in _hosts)
        {
            await host.StopAsync();
            host.Dispose();
        }
    }

    private async Task<IHost> StartHostAsync(ItemWork work, bool receives)
    {
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(null);
        builder.Logging.AddConsole(static console => console.LogToStandardErrorThreshold = LogLevel.Trace).SetMinimumLevel(LogLevel.Warning);
        builder.Services.AddSingleton(work);
        builder.Services.AddOptions<MassTransitHostOptions>().Configure(static options => options.WaitUntilStarted = true);
        builder.Services.AddMassTransit(bus =>
        {
            bus.DisableUsageTelemetry();
            bus.AddConsumer<MassTransitConsumer>();
            bus.UsingRabbitMq((context, rabbit) =>
            {
                rabbit.Host(new Uri(address.Server));
                if (receives)
                {
                    rabbit.ReceiveEndpoint(address.Queue, endpoint =>
                    {
                        endpoint.SetQuorumQueue();
                        endpoint.PrefetchCount = address.Ahead;
                        endpoint.ConcurrentMessageLimit = address.Consumers;
                        endpoint.ConfigureConsumeTopology = false;
                        endpoint.ConfigureConsumer<MassTransitConsumer>(context);
                    });
                }
            });
        });
        IHost host = builder.Build();
        await host.StartAsync();
        return host;
    }
}
