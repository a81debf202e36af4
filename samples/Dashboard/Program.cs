using System.Net;
using System.Text;
using Dashboard;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Weir.Dashboard;
using Weir.Delivery;
using Weir.Hosting;

WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
builder.Logging.AddFilter("Microsoft", LogLevel.Warning).AddFilter("Weir.Worker", LogLevel.Error).AddFilter("Weir.Workers", LogLevel.Error);

// Here, whoever sits at this machine may act. A real service asks for a role: policy => policy.RequireRole("operators").
builder.Services.AddAntiforgery();
builder.Services.AddAuthorization(options => options.AddPolicy(
    "operators", policy => policy.RequireAssertion(static who => who.Resource is HttpContext { Connection.RemoteIpAddress: { } from } && IPAddress.IsLoopback(from))));

// The orders: a queue, its worker, and gauges that read how much waits.
builder.Services.AddSingleton<IWorkQueue<string>>(new MemoryWorkQueue<string>("orders", WorkSerializer.Text));
builder.Services.AddWeirWorker<OrderProcessor>("orders", options => (options.MaxAttempts, options.RedeliveryDelays) = (2, [TimeSpan.FromSeconds(1)]));
builder.Services.AddWeirGauges<string>("orders", options => options.Interval = TimeSpan.FromSeconds(1));
builder.Services.AddHostedService<Work>();

WebApplication app = builder.Build();
app.Urls.Add(args.Length > 0 ? args[0] : "http://127.0.0.1:5080");
app.UseAuthorization();
app.MapWeir("/weir", options =>
{
    options.AllowActions = true;
    options.ActionPolicy = "operators";
    options.DescribeItem = static (_, bytes) => Encoding.UTF8.GetString(bytes.Span);
});

await app.StartAsync();
Console.WriteLine($"listening on {app.Urls.First()}/weir");
await app.WaitForShutdownAsync();
