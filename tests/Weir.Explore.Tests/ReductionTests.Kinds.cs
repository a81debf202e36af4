using System.Diagnostics;
using System.Globalization;
using System.Threading.Channels;

namespace Weir.Explore.Tests;

/// <content>Programs with operations of one kind each.</content>
public partial class ReductionTests
{
    private static readonly Dictionary<string, Func<Task<string>>> Programs = new()
    {
        ["plain fields"] = static () => TwoAsync(static box => box.Value++, static box => box.Value += 2),
        ["two plain fields"] = static () => TwoAsync(Marked(static box => box.Value = box.Other + 1), Marked(static box => box.Other = box.Value + 2)),
        ["volatile fields"] = static () => TwoAsync(static box => box.Flag = box.Seen + 1, static box => box.Seen = box.Flag + 2),
        ["atomics"] = static () => TwoAsync(
            static box => box.Other = Interlocked.Add(ref box.Value, 3), static box => box.Seen = Interlocked.Exchange(ref box.Value, 5)),
        ["references"] = static () => TwoAsync(
            static box => box.Next = new Box { Value = box.Seen + 1 }, Marked(static box => box.Value = Volatile.Read(ref box.Next)?.Value ?? 7)),
        ["structures"] = static () => TwoAsync(
            Marked(static box => box.Pair = (box.Pair.Item2 + 1, box.Pair.Item1 + 2)), Marked(static box => box.Pair.Item2 = box.Pair.Item1 + 4)),
        ["nullables"] = static () => TwoAsync(
            Marked(static box => box.Maybe = 4), Marked(static box => box.Value = box.Maybe.GetValueOrDefault() + (box.Maybe.HasValue ? 1 : 0))),
        ["arrays"] = static () => TwoAsync(Marked(static box => box.Items[0] = box.Items[1] + 1), Marked(static box => box.Items[1] = box.Items[0] + 2)),
        ["arrays, whole"] = static () => TwoAsync(
            Marked(static box => Array.Copy(box.Items, 0, box.Items, 1, 1)), Marked(static box => { box.Items[0] = 5; box.Value = box.Items[1]; })),
        ["spans"] = static () => TwoAsync(
            Marked(static box => box.Items.AsSpan().Fill(3)), Marked(static box => { box.Items[0] = 5; box.Value = box.Items.AsSpan()[1]; })),
        ["out parameters"] = static () => TwoAsync(
            Marked(static box => int.TryParse("12", CultureInfo.InvariantCulture, out box.Value)), Marked(static box => box.Other = box.Value + 1)),
        ["lists"] = static () => TwoAsync(static box => Add(box, 1), static box => Add(box, 2)),
        ["lists in loops"] = static () => TwoAsync(
            static box => { Add(box, 1); Add(box, 2); },
            static box =>
            {
                try
                {
                    foreach (int item in box.List)
                    {
                        box.Seen += item;
                    }
                }
                catch (InvalidOperationException)
                {
                    box.Seen = -1;
                }
            }),
        ["lists that are queried"] = static () => TwoAsync(
            static box => { Add(box, 1); Add(box, 2); }, static box => box.Other = box.List.Count(i => i + box.Seen > 0)),
        ["dictionaries"] = static () => TwoAsync(
            Marked(static box => box.Names["a"] = box.Names.Count),
            Marked(static box => box.Value = box.Names.TryGetValue("a", out int value) ? value + 1 : 5)),
        ["texts"] = static () => TwoAsync(Marked(static box => box.Text.Append('a')), Marked(static box => box.Text.Append('b'))),
        ["concurrent queues"] = static () => TwoAsync(
            static box => { box.Queue.Enqueue(1); box.Queue.Enqueue(2); }, static box => box.Value = box.Queue.TryDequeue(out int item) ? item : 9),
        ["concurrent dictionaries"] = static () => TwoAsync(
            static box => box.Value = box.Map.GetOrAdd(1, static (_, b) => Interlocked.Increment(ref b.Seen), box),
            static box => box.Other = box.Map.AddOrUpdate(1, 5, (_, old) => old + box.Flag + 1)),
        ["lazies"] = static () => TwoAsync(
            Marked(static box => box.Value = box.Late.Value), Marked(static box => { box.Other += 3; box.Seen = box.Late.Value; })),
        ["locks"] = static () => TwoAsync(
            static box => { lock (box) { box.Value = (box.Value * 2) + 1; } }, static box => { lock (box) { box.Value = (box.Value * 3) + 2; } }),
        ["locks tried"] = static () => TwoAsync(
            static box => { lock (box.Lock) { box.Flag++; } },
            static box =>
            {
                if (box.Lock.TryEnter())
                {
                    box.Value = box.Flag + 1;
                    box.Lock.Exit();
                }
            }),
        ["pulses"] = static () => TwoAsync(
            static box =>
            {
                lock (box)
                {
                    box.Value++;
                    Monitor.PulseAll(box);
                }
            },
            static box =>
            {
                lock (box)
                {
                    bool isPulsed = box.Value > 0 || Monitor.Wait(box, 10);
                    box.Other = isPulsed ? box.Value : -1;
                }
            }),
        ["semaphores"] = static () => TwoAsync(
            static box => { box.Semaphore.Wait(); box.Value = (box.Value * 2) + 1; box.Semaphore.Release(); },
            static box => { box.Semaphore.Wait(); box.Value = (box.Value * 3) + 2; box.Semaphore.Release(); }),
        ["semaphores with a limit"] = static () => TwoAsync(
            static box => { box.Semaphore.Wait(); box.Flag++; box.Semaphore.Release(); }, static box => box.Value = box.Semaphore.Wait(0) ? box.Flag + 1 : 9),
        ["semaphores, async"] = static async () =>
        {
            Box box = new();
            await Task.WhenAll(Task.Run(() => TakeAsync(2)), Task.Run(() => TakeAsync(3)));
            return box.ToString();

            async Task TakeAsync(int number)
            {
                await box.Semaphore.WaitAsync();
                box.Value = (box.Value * number) + 1;
                box.Semaphore.Release();
            }
        },
        ["events"] = static () => TwoAsync(
            static box => { box.Value = 1; box.Event.Set(); box.Flag = 2; },
            static box => box.Other = box.Event.Wait(5) ? box.Value + box.Flag : box.Event.IsSet ? 20 : 10),
        ["tasks"] = static async () =>
        {
            Box box = new();
            Task<int> first = Task.Run(() => Interlocked.Increment(ref box.Value));
            Task<int> second = Task.Run(() => first.IsCompleted ? 10 : 20);
            return $"{await first} {await second} {box}";
        },
        ["tasks that fail"] = static async () =>
        {
            Box box = new();
            Task first = Task.Run(() => box.Flag == 0 ? throw new InvalidOperationException() : box.Value = 1);
            Task second = Task.Run(() => box.Flag = 1);
            await second;
            try
            {
                await first;
            }
            catch (InvalidOperationException)
            {
                box.Other = 3;
            }

            return box.ToString();
        },
        ["any of two tasks"] = static async () =>
        {
            Box box = new();
            Task<int> first = Task.Run(() => box.Flag += 1);
            Task<int> second = Task.Run(() => box.Flag += 2);
            Task<int> any = await Task.WhenAny(first, second);
            string seen = any == first ? "first" : "second";
            await Task.WhenAll(first, second);
            return $"{seen} {box}";
        },
        ["continuations"] = static async () =>
        {
            Box box = new();
            Task first = Task.Run(() => box.Flag += 1);
            Task then = first.ContinueWith(_ => box.Value = box.Flag + box.Seen);
            box.Seen = 5;
            await then;
            return box.ToString();
        },
        ["child tasks"] = static async () =>
        {
            Box box = new();
            await Task.Factory.StartNew(
                () =>
                {
                    _ = Task.Factory.StartNew(() => box.Flag = box.Seen + 1, TaskCreationOptions.AttachedToParent);
                    box.Seen = 5;
                },
                CancellationToken.None, TaskCreationOptions.None, TaskScheduler.Default);
            return box.ToString();
        },
        ["completion sources"] = static async () =>
        {
            Box box = new();
            TaskCompletionSource<int> source = new();
            Task<bool> one = Task.Run(() => source.TrySetResult(box.Flag + 1));
            Task<bool> two = Task.Run(() => source.TrySetResult(box.Flag + 2));
            box.Flag = 5;
            return $"{await source.Task} {await one} {await two}";
        },
        ["yields"] = static async () =>
        {
            Box box = new();
            await Task.WhenAll(AddAsync(2), AddAsync(3));
            return box.ToString();

            async Task AddAsync(int number)
            {
                await Task.Yield();
                box.Flag = (box.Flag * number) + 1;
            }
        },
        ["threads"] = static () =>
        {
            Box box = new();
            Thread first = new(() => box.Flag = (box.Flag * 2) + 1);
            Thread second = new(() => box.Flag = (box.Flag * 3) + 2);
            first.Start();
            second.Start();
            first.Join();
            box.Value = second.IsAlive ? box.Flag : -1;
            second.Join();
            return Task.FromResult(box.ToString());
        },
        ["child threads"] = static () =>
        {
            Box box = new();
            Thread first = new(() =>
            {
                Thread child = new(() => box.Flag = (box.Flag * 2) + 1);
                child.Start();
                box.Flag = (box.Flag * 3) + 2;
                child.Join();
            });
            first.Start();
            box.Seen = box.Flag;
            first.Join();
            return Task.FromResult(box.ToString());
        },
        ["thread numbers"] = static async () =>
        {
            int[] ids = await Task.WhenAll(Task.Run(InnerAsync), Task.Run(InnerAsync));
            return string.Join(' ', ids);

            static async Task<int> InnerAsync() => await Task.Run(static () => Environment.CurrentManagedThreadId % 2);
        },
        ["spinning"] = static () => TwoAsync(
            static box => { box.Value = 3; box.Flag = 1; },
            static box =>
            {
                SpinWait spin = default;
                while (box.Flag == 0 && spin.Count < 2)
                {
                    spin.SpinOnce();
                }

                box.Other = box.Flag + box.Value;
            }),
        ["cancellation"] = static async () =>
        {
            Box box = new();
            using CancellationTokenSource source = new();
            Task first = Task.Run(() =>
            {
                using CancellationTokenRegistration registration = source.Token.Register(() => box.Flag = (box.Flag * 2) + 1);
                box.Flag += 5;
            });
            Task second = Task.Run(() =>
            {
                box.Seen = source.IsCancellationRequested ? 1 : 2;
                source.Cancel();
            });
            await Task.WhenAll(first, second);
            return box.ToString();
        },
        ["linked cancellation"] = static async () =>
        {
            Box box = new();
            using CancellationTokenSource parent = new();
            Task first = Task.Run(() =>
            {
                using CancellationTokenSource child = CancellationTokenSource.CreateLinkedTokenSource(parent.Token);
                box.Value = child.IsCancellationRequested ? 1 : 2;
                box.Other = child.IsCancellationRequested ? 1 : 2;
            });
            Task second = Task.Run(parent.Cancel);
            await Task.WhenAll(first, second);
            return box.ToString();
        },
        ["timers"] = static async () =>
        {
            Box box = new();
            using Timer timer = new(_ => box.Flag = (box.Flag * 2) + 1, null, 5, Timeout.Infinite);
            Task changing = Task.Run(() => box.Value = timer.Change(1, Timeout.Infinite) ? 1 : 2);
            await Task.Delay(5);
            box.Flag += 5;
            await changing;
            await Task.Delay(5);
            return box.ToString();
        },
        ["time"] = static () => TwoAsync(
            static box => { Thread.Sleep(1); box.Flag = 1; },
            static box => { SpinWait spin = default; spin.SpinOnce(); box.Value = (int)(Stopwatch.GetTimestamp() % 1_000_003) + box.Flag; }),
        ["delays"] = static async () =>
        {
            Box box = new();
            Task first = DelayAsync(1, 2);
            Task second = DelayAsync(1, 3);
            await Task.WhenAll(first, second);
            return box.ToString();

            async Task DelayAsync(int milliseconds, int number)
            {
                await Task.Delay(milliseconds);
                box.Flag = (box.Flag * number) + 1;
            }
        },
        ["time limits"] = static async () =>
        {
            Box box = new();
            TaskCompletionSource source = new();
            Task setting = Task.Run(async () =>
            {
                await Task.Delay(1);
                source.TrySetResult();
            });
            try
            {
                await source.Task.WaitAsync(TimeSpan.FromMilliseconds(1));
                box.Value = 1;
            }
            catch (TimeoutException)
            {
                box.Value = 2;
            }

            await setting;
            return box.ToString();
        },
        ["channels"] = static async () =>
        {
            Channel<int> channel = Channel.CreateBounded<int>(1);
            Task<int> reading = Task.Run(async () => (await channel.Reader.ReadAsync() * 10) + await channel.Reader.ReadAsync());
            await Task.WhenAll(Task.Run(async () => await channel.Writer.WriteAsync(1)), Task.Run(async () => await channel.Writer.WriteAsync(2)));
            return $"{await reading}";
        },
        ["async iterators"] = static async () =>
        {
            Box box = new();
            Task other = Task.Run(() => box.Flag += 5);
            await foreach (int item in ItemsAsync(box))
            {
                box.Value = (box.Value * 10) + item;
            }

            await other;
            return box.ToString();
        },
        ["pool"] = static async () =>
        {
            Box box = new();
            TaskCompletionSource done = new();
            for (int i = 2; i < 4; i++)
            {
                ThreadPool.QueueUserWorkItem(
                    number =>
                    {
                        box.Flag = (box.Flag * number) + 1;
                        if (Interlocked.Increment(ref box.Value) == 2)
                        {
                            done.SetResult();
                        }
                    },
                    i, preferLocal: false);
            }

            await done.Task;
            return box.ToString();
        },
        ["random numbers"] = static () => TwoAsync(
            Marked(static box => box.Value = Random.Shared.Next(100)), Marked(static box => box.Other = Random.Shared.Next(100))),
        ["deadlocks"] = static () => TwoAsync(
            static box => { lock (box) { lock (box.Lock) { box.Value++; } } }, static box => { lock (box.Lock) { lock (box) { box.Value++; } } }),
        ["interrupts"] = static () =>
        {
            Box box = new();
            Thread first = new(() =>
            {
                try
                {
                    Thread.Sleep(1);
                    box.Value = 1;
                }
                catch (ThreadInterruptedException)
                {
                    box.Value = 2;
                }
            });
            first.Start();
            box.Flag = 1;
            first.Interrupt();
            first.Join();
            return Task.FromResult(box.ToString());
        },
    };
}
