using Weir.Delivery;
using Weir.Hosting;

namespace WeirApp;

/// <summary>Processes an item. Each has a processor and a scope of its own, so it may use scoped services, such as a database context.</summary>
internal sealed class Processor : IWorkProcessor<string>
{
    // When it returns, the item is acknowledged. It may come again if the process dies before that: its Id stays the same.
    public async ValueTask ProcessAsync(WorkItem<string> item, CancellationToken cancellationToken)
    {
        await Task.Delay(100, cancellationToken);
        Console.WriteLine($"processed {item.Value}");
    }
}
