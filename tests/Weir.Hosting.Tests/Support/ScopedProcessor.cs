namespace Weir.Hosting.Tests.Support;

/// <summary>A processor that uses a service of its scope.</summary>
internal sealed class ScopedProcessor(ScopedService service) : IWorkProcessor<string>
{
    public async ValueTask ProcessAsync(WorkItem<string> item, CancellationToken cancellationToken)
    {
        await Task.Yield();
        service.Use(item.Value);
    }
}
