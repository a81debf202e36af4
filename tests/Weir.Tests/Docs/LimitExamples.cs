using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Tests.Docs;

/// <summary>The examples of docs/limits.md, word for word.</summary>
internal static class LimitExamples
{
    public static async Task<(List<Order> Orders, Order First)> SharedAsync(int[] orderIds, int[] invoiceIds, CancellationToken cancellationToken)
    {
        var database = new SharedConcurrencyLimit(16);

        Task<List<Order>> orders = orderIds.SelectParallelAsync(
            (id, token) => LoadOrderAsync(id, token),
            new ParallelRunOptions { MaxDegreeOfParallelism = 32, SharedConcurrencyLimit = database });
        Task invoices = invoiceIds.ForEachParallelAsync(
            (id, token) => SendInvoiceAsync(id, token),
            new ParallelRunOptions { MaxDegreeOfParallelism = 32, SharedConcurrencyLimit = database });
        Order first = await database.ExecuteAsync(token => LoadOrderAsync(1, token), cancellationToken);
        await invoices;
        return (await orders, first);
    }

    public static async Task<ItemOutcome<Order>[]> RuntimeAsync(int[] orderIds)
    {
        await using var runtime = new ConcurrentRuntime(64, new RuntimeOptions { TotalConcurrency = 64 });
        ItemOutcome<Order>[] outcomes = await runtime.ProcessManyAsync(orderIds, (id, token) => LoadOrderAsync(id, token));
        return outcomes;
    }

    public static async Task<Order> AloneAsync(SharedConcurrencyLimit limit, int id, CancellationToken cancellationToken)
    {
        await limit.EnterAsync(cancellationToken);
        try
        {
            return await LoadOrderAsync(id, cancellationToken);
        }
        finally
        {
            limit.Leave();
        }
    }

    private static async ValueTask<Order> LoadOrderAsync(int id, CancellationToken token)
    {
        await Task.Yield();
        return new Order(id);
    }

    private static ValueTask SendInvoiceAsync(int id, CancellationToken token) => default;

    internal sealed record Order(int Id);
}
