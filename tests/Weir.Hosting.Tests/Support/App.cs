using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Weir.Hosting.Tests.Support;

/// <summary>Applications with one worker called "mails", which do not look at the console, at files or at the environment.</summary>
internal static class App
{
    public const string Worker = "mails";

    public static HostApplicationBuilder Create(params (string Key, string Value)[] settings)
    {
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(new HostApplicationBuilderSettings { DisableDefaults = true });
        builder.Configuration.AddInMemoryCollection(
            settings.Select(static s => new KeyValuePair<string, string?>($"Weir:Workers:{Worker}:{s.Key}", s.Value)));
        builder.Services.Configure<HostOptions>(static o => o.ShutdownTimeout = Timeout.InfiniteTimeSpan);
        builder.Logging.ClearProviders();
        return builder;
    }

    /// <summary>An application whose worker calls a delegate for each item of a queue in memory.</summary>
    public static HostApplicationBuilder Create(
        IWorkQueue<string> queue, Func<WorkItem<string>, CancellationToken, ValueTask> process, params (string Key, string Value)[] settings)
    {
        HostApplicationBuilder builder = Create(settings);
        builder.Services.AddSingleton(queue);
        builder.Services.AddSingleton(process);
        builder.Services.AddWeirWorker<DelegateProcessor>(Worker);
        return builder;
    }

    public static IWeirWorker WorkerOf(this IHost host) => host.Services.GetRequiredKeyedService<IWeirWorker>(Worker);

    public static async Task<MemoryWorkQueue<string>> QueueAsync(params IEnumerable<string> values)
    {
        MemoryWorkQueue<string> queue = new("mails", WorkSerializer.Text);
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        await sink.WriteAsync([.. values.Select((v, i) => new WorkItem<string>(new WorkId("test", i), v, v[..1]))], null, CancellationToken.None);
        return queue;
    }
}
