using Hangfire;
using Hangfire.PostgreSql;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Npgsql;
using Weir.Runtimes;

string? server = Environment.GetEnvironmentVariable("WEIR_POSTGRES");
if (server is null || args is not (["enqueue" or "delete", _] or ["work"]))
{
    Console.Error.WriteLine("HangfireJob enqueue COUNT | work | delete JOB. Set WEIR_POSTGRES; `eng/services up postgres` starts a server and prints it.");
    return 2;
}

HostApplicationBuilder builder = Host.CreateApplicationBuilder(new HostApplicationBuilderSettings { ContentRootPath = AppContext.BaseDirectory });
builder.Logging.SetMinimumLevel(LogLevel.Warning);
builder.Services.AddSingleton(NpgsqlDataSource.Create(server));
builder.Services.AddSingleton<Letters>();
builder.Services.AddSingleton<IExecutionRuntime>(new ConcurrentRuntime(16, new RuntimeOptions { TotalConcurrency = 32 }));
builder.Services.AddTransient<LettersJob>();
builder.Services.AddHangfire(hangfire => hangfire
    .UseSimpleAssemblyNameTypeSerializer()
    .UseRecommendedSerializerSettings()
    .UsePostgreSqlStorage(
        storage => storage.UseNpgsqlConnection(server),
        // A job whose process was killed is taken by another after this time; a process that lives renews it. The lock that such a process had ends as well.
        new PostgreSqlStorageOptions
        {
            EnableLongPolling = true, InvisibilityTimeout = TimeSpan.FromSeconds(15), UseSlidingInvisibilityTimeout = true, DistributedLockTimeout = TimeSpan.FromSeconds(30),
        }));
if (args is ["enqueue", var text])
{
    using IHost client = builder.Build();
    int count = int.Parse(text);
    await client.Services.GetRequiredService<Letters>().CreateAsync(count);
    long[] ids = [.. Enumerable.Range(1, count)];
    string job = client.Services.GetRequiredService<IBackgroundJobClient>().Enqueue<LettersJob>(letters => letters.SendAsync(ids, null, CancellationToken.None));
    Console.WriteLine($"job {job} has {count} letters");
    return 0;
}

if (args is ["delete", var id])
{
    using IHost client = builder.Build();
    client.Services.GetRequiredService<IBackgroundJobClient>().Delete(id);
    return 0;
}

builder.Services.AddHangfireServer(options => options.WorkerCount = 2);
await builder.Build().RunAsync();
return 0;
