using Weir.Delivery;
using Weir.Hosting;
using WeirApp;

HostApplicationBuilder builder = Host.CreateApplicationBuilder(
    new HostApplicationBuilderSettings { Args = args, ContentRootPath = AppContext.BaseDirectory });

// In memory, so that it runs without a server. What must outlive the process belongs into PostgresWorkQueue (Weir.PostgreSql) or RabbitWorkQueue
// (Weir.RabbitMQ); nothing else changes.
MemoryWorkQueue<string> queue = new("work", WorkSerializer.Text);
builder.Services.AddSingleton<IWorkQueue<string>>(queue);

// Its options are in appsettings.json.
builder.Services.AddWeirWorker<Processor>("work", options => options.StopAtEnd = true);
builder.Services.AddHealthChecks().AddWeirWorkers();

// Stands for whoever publishes: the arguments are the items, and the program ends when they are done. A worker that goes on for ever never completes its queue.
await using (IWorkSink<string> sink = await queue.OpenSinkAsync())
{
    await sink.WriteAsync(WorkItem.CreateMany(args.Length > 0 ? args : ["one", "two", "three"]), position: null, CancellationToken.None);
}

queue.Complete();
using IHost app = builder.Build();
await app.RunAsync();
