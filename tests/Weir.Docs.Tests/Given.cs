using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Docs.Tests;

/// <summary>What the examples of the pages take for granted, all in one place: each is compiled with <c>using static</c> of it.</summary>
public static class Given
{
    public static string[] urls { get; } = ["http://localhost/a", "http://localhost/b"];

    public static string[] files { get; } = ["a", "b"];

    public static string[] lines { get; } = ["1", "2", "3"];

    public static string[] rows { get; } = ["1", "2", "3"];

    public static Order[] orders { get; } = [new(1), new(2)];

    public static Request[] requests { get; } = [new(1), new(2)];

    public static Change[] changes { get; } = [new(7), new(8), new(7)];

    public static IAsyncEnumerable<string> events => EventsAsync();

    public static Backend client { get; } = new();

    public static WebApplicationBuilder builder => WebApplication.CreateSlimBuilder();

    /// <summary>An application with the services that an example before may have added.</summary>
    public static WebApplication app
    {
        get
        {
            WebApplicationBuilder with = builder;
            with.Services.AddAuthorization();
            with.Services.AddAntiforgery();
            return with.Build();
        }
    }

    public static IExecutionRuntime runtime { get; } = new ConcurrentRuntime();

    public static CancellationToken cancellationToken => CancellationToken.None;

    public static TimeProvider time => TimeProvider.System;

    public static RetryPolicy policy { get; } = new(new RetryOptions { MaxRetries = 1 });

    public static string path => "/prices";

    /// <summary>A file of numbers, one a line.</summary>
    public static string csv => Numbers.Value;

    public static object counterLock { get; } = new();

    public static long counter { get; set; }

    public static int total { get; set; }

    public static ValueTask<Page> FetchAsync(string url, CancellationToken token) => new(new Page(url));

    public static ValueTask<string> LoadAsync(string path, CancellationToken token) => new("page " + path);

    public static ValueTask<Stream> OpenAsync(string url, CancellationToken token) => new(new MemoryStream());

    public static Task StoreAsync(Order order, CancellationToken token) => Task.CompletedTask;

    public static Task SaveAsync(string row, CancellationToken token) => Task.CompletedTask;

    public static ValueTask<int> InsertAsync(IReadOnlyList<string> batch, CancellationToken token) => new(batch.Count);

    public static Task SendMailAsync(string address, CancellationToken token) => Task.CompletedTask;

    public static async Task<Receipt> SendAsync(Order order, CancellationToken token)
    {
        await Task.Yield();
        return new(order.Number);
    }

    public static Task<Receipt> ApplyAsync(Change change, CancellationToken token) => Task.FromResult(new Receipt(change.CustomerId));

    public static ValueTask<Hash> HashAsync(string file, CancellationToken token) => new(new Hash(file));

    private static readonly Lazy<string> Numbers = new(static () =>
    {
        string file = Path.Combine(AppContext.BaseDirectory, "numbers.csv");
        File.WriteAllLines(file, Enumerable.Range(1, 5_000).Select(static n => $"{n}"));
        return file;
    });

    public static void Show(Page page) => Console.WriteLine(page.Text);

    private static async IAsyncEnumerable<string> EventsAsync()
    {
        for (int i = 0; i < 3; i++)
        {
            await Task.Yield();
            yield return $"event {i}";
        }
    }

    public sealed record Page(string Text)
    {
        public static Page Missing { get; } = new("");
    }

    public sealed record Order(int Number);

    public sealed class BusyException(TimeSpan? retryAfter) : Exception
    {
        public TimeSpan? RetryAfter => retryAfter;
    }

    public sealed record Receipt(int Number);

    public sealed record Request(int Number);

    public sealed record Reply(int Number);

    public sealed record Change(int CustomerId);

    public sealed record Hash(string File);

    public sealed class Backend
    {
        private int _calls;

        public Task<Reply> SendAsync(Request request, CancellationToken token) =>
            Task.FromResult(new Reply(Interlocked.Increment(ref _calls) + request.Number));
    }
}
