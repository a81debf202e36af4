using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Wolverine;

namespace Weir.Lab.Queues.Arms;

/// <summary>The applications of Wolverine: one that publishes, and one that handles.</summary>
/// <param name="publish">Configures the first.</param>
/// <param name="listen">Configures the second.</param>
internal sealed class WolverineHosts(Action<WolverineOptions> publish, Action<WolverineOptions> listen) : IAsyncDisposable
{
    private readonly List<IHost> _hosts = [];
    private IHost? _publisher;

    public async Task OpenAsync() => _publisher = await StartHostAsync(new ItemWork(static _ => Task.CompletedTask), publish);

    public async Task PublishAsync(QueueItem item)
    {
        // A bus belongs to one piece of work, as it does in a request.
        await using AsyncServiceScope scope = _publisher!.Services.CreateAsyncScope();
        await scope.ServiceProvider.GetRequiredService<IMessageBus>().PublishAsync(item);
    }

    public Task StartAsync(Func<QueueItem, Task> handle) => StartHostAsync(new ItemWork(handle), listen);

    public async ValueTask DisposeAsync()
    {
        foreach (IHost host in _hosts)
        {
            await host.StopAsync();
            host.Dispose();
        }
    }

    private async Task<IHost> StartHostAsync(ItemWork work, Action<WolverineOptions> configure)
    {
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(null);
        builder.Logging.AddConsole(static console => console.LogToStandardErrorThreshold = LogLevel.Trace).SetMinimumLevel(LogLevel.Warning);
        builder.Services.AddSingleton(work);
        builder.UseWolverine(options =>
        {
            options.ApplicationAssembly = typeof(WolverineHosts).Assembly;
            options.UseRuntimeCompilation();
            options.Durability.Mode = DurabilityMode.Solo;
            configure(options);
        });
        IHost host = builder.Build();
        _hosts.Add(host);
        await host.StartAsync();
        return host;
    }
}
