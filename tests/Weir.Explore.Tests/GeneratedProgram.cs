using System.Collections.Concurrent;
using System.Text;

namespace Weir.Explore.Tests;

/// <summary>A small program of two or three threads whose operations come from a seed. It ends with what its threads have seen, and what is left.</summary>
internal sealed class GeneratedProgram
{
    private readonly int[] _plain = new int[3];
    private readonly List<int> _list = [];
    private readonly Dictionary<int, int> _names = [];
    private readonly ConcurrentQueue<int> _queue = new();
    private readonly Lock _lock = new();
    private readonly object _monitor = new();
    private readonly TaskCompletionSource<int> _source = new();
    private readonly CancellationTokenSource _cancellation = new();
    private readonly SemaphoreSlim _semaphore = new(1);
    private readonly List<(int Kind, int At, int Number)[]> _threads = [];
    private volatile int _first;
    private volatile int _second;
    private int _atomic;
    private int _field;
    private object? _shared;
    private (int One, object? Two) _pair;

    public GeneratedProgram(int seed)
    {
        Random random = new(seed);
        int threads = random.Next(2, 4);
        for (int thread = 0; thread < threads; thread++)
        {
            var steps = new (int, int, int)[random.Next(1, threads == 2 ? 4 : 3)];
            for (int step = 0; step < steps.Length; step++)
            {
                steps[step] = (random.Next(22), random.Next(3), random.Next(1, 5));
            }

            _threads.Add(steps);
        }
    }

    public async Task<string> RunAsync()
    {
        string[] seen = await Task.WhenAll(_threads.Select(steps => Task.Run(() => ThreadAsync(steps))));
        return $"{string.Join(" | ", seen)}: {_first} {_second} {_atomic} {_field} {_shared} {_pair} {string.Join(',', _plain)} {string.Join(',', _list)} " +
            $"{string.Join(',', _queue)} {_names.Count} {(_source.Task.IsCompleted ? _source.Task.Result : 0)} {_cancellation.IsCancellationRequested}";
    }

    private async Task<string> ThreadAsync((int Kind, int At, int Number)[] steps)
    {
        StringBuilder seen = new();
        foreach ((int kind, int at, int number) in steps)
        {
            seen.Append(await StepAsync(kind, at, number)).Append(' ');
        }

        return seen.ToString();
    }

    private async Task<int> StepAsync(int kind, int at, int number)
    {
        switch (kind)
        {
            case 0:
                return _first = number;
            case 1:
                return _second = _first + number;
            case 2:
                return Interlocked.Add(ref _atomic, number);
            case 3:
                return Interlocked.CompareExchange(ref _atomic, number, 0);
            case 4:
                _field = (_field * 2) + number + _first;
                return _field;
            case 5:
                _plain[at] = _plain[(at + 1) % 3] + number + _second;
                return _plain[at];
            case 6:
                lock (_lock)
                {
                    _field = (_field * 3) + number;
                }

                return _field;
            case 7:
                lock (_monitor)
                {
                    _list.Add(number);
                    _second++;
                    return _list.Count;
                }

            case 8:
                lock (_monitor)
                {
                    return _list.Count == 0 ? 0 : _list[^1];
                }

            case 9:
                _queue.Enqueue(number);
                return 0;
            case 10:
                return _queue.TryDequeue(out int item) ? item : -1;
            case 11:
                return _source.TrySetResult(number) ? 1 : 0;
            case 12:
                return _source.Task.IsCompleted ? await _source.Task : -1;
            case 13:
                await Task.Yield();
                return _first;
            case 14:
                _cancellation.Cancel();
                return 0;
            case 15:
                return _cancellation.IsCancellationRequested ? 1 : 0;
            case 16:
                using (_cancellation.Token.Register(() => _first++))
                {
                    return _first;
                }

            case 17:
                await _semaphore.WaitAsync();
                _field = (_field * 5) + number;
                return _semaphore.Release();
            case 18:
                object? before = Interlocked.Exchange(ref _shared, number);
                return before is int old ? old : -1;
            case 19:
                Interlocked.Increment(ref _atomic);
                _pair = (_pair.One + number, _shared);
                return _pair.Two is int two ? two : -1;
            case 20:
                Thread child = new(() => _first = (_first * 2) + number);
                child.Start();
                _second = _first;
                child.Join();
                return _second;
            default:
                lock (_lock)
                {
                    _names[number] = _names.TryGetValue(at, out int known) ? known + 1 : _names.Count;
                    return _names[number];
                }
        }
    }
}
