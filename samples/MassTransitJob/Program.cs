using MassTransit;
using MassTransitJob;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Npgsql;
using Weir.Delivery;
using Weir.PostgreSql;
using Weir.Runtimes;

string? server = Environment.GetEnvironmentVariable("WEIR_POSTGRES");
string? broker = Environment.GetEnvironmentVariable("WEIR_RABBITMQ");
if (server is null || broker is null || args is not (["send", _] or ["work"]))
{
    Console.Error.WriteLine("MassTransitJob send COUNT | work. Set WEIR_POSTGRES and WEIR_RABBITMQ; `eng/services up` starts servers and prints them.");
    return 2;
}

HostApplicationBuilder builder = Host.CreateApplicationBuilder(new HostApplicationBuilderSettings { ContentRootPath = AppContext.BaseDirectory });
builder.Logging.SetMinimumLevel(LogLevel.Warning);
builder.Services.AddSingleton(NpgsqlDataSource.Create(server));
builder.Services.AddSingleton<Letters>();
builder.Services.AddSingleton<ICheckpointStore>(services => new PostgresCheckpointStore(services.GetRequiredService<NpgsqlDataSource>()));
builder.Services.AddSingleton<IExecutionRuntime>(new ConcurrentRuntime(16, new RuntimeOptions { TotalConcurrency = 32 }));
// Consumers are told of the stop at once, and then have time. By default they are not told of it for as long as the host waits.
builder.Services.Configure<MassTransitHostOptions>(options => (options.ConsumerStopTimeout, options.StopTimeout) = (TimeSpan.FromMilliseconds(1), TimeSpan.FromSeconds(25)));
builder.Services.AddMassTransit(bus =>
{
    bus.DisableUsageTelemetry();
    bus.AddConsumer<LettersConsumer>();
    bus.UsingRabbitMq((context, rabbit) =>
    {
        rabbit.Host(new Uri(broker));
        if (args is ["work"])
        {
            rabbit.ReceiveEndpoint("masstransit-letters", endpoint =>
            {
                endpoint.PrefetchCount = 2;
                endpoint.UseMessageRetry(retry => retry.Interval(3, TimeSpan.FromSeconds(10)));
                endpoint.ConfigureConsumer<LettersConsumer>(context);
            });
        }
    });
});
if (args is ["send", var text])
{
    using IHost client = builder.Build();
    await client.StartAsync();
    int count = int.Parse(text);
    await client.Services.GetRequiredService<Letters>().CreateAsync(count);
    await ((PostgresCheckpointStore)client.Services.GetRequiredService<ICheckpointStore>()).SetupAsync();
    ISendEndpoint endpoint = await client.Services.GetRequiredService<IBus>().GetSendEndpoint(new Uri("queue:masstransit-letters"));
    await endpoint.Send(new LettersWritten([.. Enumerable.Range(1, count).Select(id => new LetterWritten(id))]));
    await client.StopAsync();
    Console.WriteLine($"the message has {count} letters");
    return 0;
}

await builder.Build().RunAsync();
return 0;
