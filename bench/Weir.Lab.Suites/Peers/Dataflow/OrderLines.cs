using System.Globalization;
using static System.FormattableString;

namespace Weir.Lab.Suites.Peers.Dataflow;

/// <summary>What small programs over blocks have to do: read lines of orders, and add up what they say.</summary>
internal sealed class OrderLines
{
    private const int Checks = 20;

    private long _count;
    private long _sum;

    public OrderLines(int count) =>
        Lines = [.. Enumerable.Range(0, count).Select(static i => Invariant($"{i};article {i % 97};{i % 13};{(i * 7919 % 10_000) / 100.0:0.00}"))];

    public string[] Lines { get; }

    /// <summary>An order of one line: some string work, of less than a microsecond.</summary>
    public static Order Read(string line)
    {
        ReadOnlySpan<char> text = line;
        int first = text.IndexOf(';');
        int last = text.LastIndexOf(';');
        int price = text[..last].LastIndexOf(';');
        return new Order(
            int.Parse(text[..first], CultureInfo.InvariantCulture),
            int.Parse(text[(price + 1)..last], CultureInfo.InvariantCulture),
            decimal.Parse(text[(last + 1)..], CultureInfo.InvariantCulture));
    }

    /// <summary>An order of one line, with checks that take some microseconds.</summary>
    public static Order ReadAndCheck(string line)
    {
        Order order = Read(line);
        for (int i = 1; i < Checks; i++)
        {
            order = Read(line) == order ? order : throw new InvalidOperationException("A line gives two orders.");
        }

        return order;
    }

    public static string[] Split(string line) => line.Split(';');

    public void Add(Order order)
    {
        _count++;
        _sum += order.Number + (order.Pieces * (long)(order.Price * 100));
    }

    public void AddField(string field)
    {
        _count++;
        _sum += field.Length;
    }

    public void AddAll(Order[] orders) => Array.ForEach(orders, Add);

    /// <summary>Stores an order with a call that does not complete at once.</summary>
    public async Task StoreAsync(Order order)
    {
        await Task.Yield();
        Add(order);
    }

    /// <summary>The count and the sum, which begin anew.</summary>
    public long[] Take()
    {
        long[] result = [_count, _sum];
        _count = _sum = 0;
        return result;
    }

    internal sealed record Order(int Number, int Pieces, decimal Price);
}
