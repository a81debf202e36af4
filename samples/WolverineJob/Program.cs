using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Npgsql;
using Weir.Runtimes;
using Wolverine;
using Wolverine.ErrorHandling;
using Wolverine.RabbitMQ;

string? server = Environment.GetEnvironmentVariable("WEIR_POSTGRES");
string? broker = Environment.GetEnvironmentVariable("WEIR_RABBITMQ");
if (server is null || broker is null || args is not (["send", _] or ["work"]))
{
    Console.Error.WriteLine("WolverineJob send COUNT | work. Set WEIR_POSTGRES and WEIR_RABBITMQ; `eng/services up` starts servers and prints them.");
    return 2;
}

HostApplicationBuilder builder = Host.CreateApplicationBuilder(new HostApplicationBuilderSettings { ContentRootPath = AppContext.BaseDirectory });
builder.Logging.SetMinimumLevel(LogLevel.Warning);
builder.Services.AddSingleton(NpgsqlDataSource.Create(server));
builder.Services.AddSingleton<Letters>();
builder.Services.AddSingleton<IExecutionRuntime>(new ConcurrentRuntime(16, new RuntimeOptions { TotalConcurrency = 32 }));
builder.UseWolverine(options =>
{
    options.UseRuntimeCompilation();
    options.Durability.Mode = DurabilityMode.Solo;
    options.UseRabbitMq(new Uri(broker)).UseQuorumQueues().DisableSystemRequestReplyQueueDeclaration().AutoProvision();
    options.OnException<OperationCanceledException>().RequeueIndefinitely();
    options.PublishMessage<SendLetters>().ToRabbitQueue("wolverine-letters").SendInline();
    if (args is ["work"])
    {
        // Inline: a message is acknowledged when its handler has ended, and not when it was received.
        options.ListenToRabbitQueue("wolverine-letters").PreFetchCount(1).ProcessInline().ListenerCount(2);
    }
});
using IHost host = builder.Build();
if (args is ["send", var text])
{
    int count = int.Parse(text);
    await host.StartAsync();
    await host.Services.GetRequiredService<Letters>().CreateAsync(count);
    await host.MessageBus().PublishAsync(new SendLetters(1, count));
    await host.StopAsync();
    Console.WriteLine($"the message has {count} letters");
    return 0;
}

await host.RunAsync();
return 0;
