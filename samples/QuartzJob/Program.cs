using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Npgsql;
using Quartz;
using Weir.Runtimes;

string? server = Environment.GetEnvironmentVariable("WEIR_POSTGRES");
if (server is null || args is not (["schedule", _] or ["schedule", _, _] or ["work"]))
{
    Console.Error.WriteLine("QuartzJob schedule [COUNT] FILE | work. Set WEIR_POSTGRES; `eng/services up postgres` starts a server and prints it.");
    return 2;
}

HostApplicationBuilder builder = Host.CreateApplicationBuilder(new HostApplicationBuilderSettings { ContentRootPath = AppContext.BaseDirectory });
builder.Logging.SetMinimumLevel(LogLevel.Warning);
builder.Services.AddSingleton(NpgsqlDataSource.Create(server));
builder.Services.AddSingleton<Letters>();
builder.Services.AddSingleton<IExecutionRuntime>(new ConcurrentRuntime(16, new RuntimeOptions { TotalConcurrency = 32 }));
builder.AddQuartz(quartz =>
{
    // A shutdown interrupts the jobs, waits for them, and leaves those that were not done to be fired again, as after a crash.
    quartz.ConfigureScheduler(scheduler => scheduler.ShutdownJobInterruption = ShutdownJobInterruption.WhenWaitingForJobs);
    quartz.UsePersistentStore(store =>
    {
        store.UsePostgres(NpgsqlFactory.Instance, server);
        store.ProvisionSchema();
        store.ConfigureStore(options => options.RecoverFiringsCancelledByShutdown = true);
    });
    quartz.UseDefaultRetryPolicy(RetryPolicy.Exponential(5, TimeSpan.FromSeconds(10)));
});
if (args is ["schedule", .. var counts, var file])
{
    using IHost client = builder.Build();
    if (counts is [var text])
    {
        int count = int.Parse(text);
        await client.Services.GetRequiredService<Letters>().CreateAsync(count);
        File.WriteAllLines(file, Enumerable.Range(1, count).Select(id => $"{id}"));
    }

    IScheduler scheduler = await client.Services.GetRequiredService<ISchedulerFactory>().GetScheduler();
    await scheduler.ScheduleJob(
        JobBuilder.Create<LettersJob>().WithIdentity("letters").RequestRecovery().UsingJobData("file", Path.GetFullPath(file)).Build(),
        TriggerBuilder.Create().StartNow().Build());
    await scheduler.Shutdown();
    Console.WriteLine($"the job has {File.ReadLines(file).Count()} letters");
    return 0;
}

builder.AddQuartzHostedService(options => options.WaitForJobsToComplete = true);
using IHost host = builder.Build();
_ = Task.Run(async () =>
{
    // Somebody interrupts the job, from this process.
    while (await Console.In.ReadLineAsync() is not null)
    {
        IScheduler scheduler = await host.Services.GetRequiredService<ISchedulerFactory>().GetScheduler();
        await scheduler.Interrupt(new JobKey("letters"));
    }
});
await host.RunAsync();
return 0;
