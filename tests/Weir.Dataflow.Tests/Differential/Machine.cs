using System.Text;
using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Differential;

/// <summary>A block, the probes around it, and everything that can be observed of them.</summary>
public sealed class Machine : IDisposable
{
    private readonly ManualScheduler _scheduler = new();
    private readonly CancellationTokenSource _cancel = new();
    private readonly Subject _subject;
    private readonly ProbeSource<string>[] _sources = [new(), new(), new()];
    private readonly ProbeTarget<object>[] _targets = [new(), new(), new()];
    private readonly HashSet<int> _linked = [];
    private readonly List<IDisposable> _links = [];
    private readonly List<Task> _tasks = [];
    private readonly List<CancellationTokenSource> _sends = [];
    private readonly StringBuilder _answers = new();
    private readonly bool _endsItself;
    private bool _completed;
    private int _number;

    public Machine(BlockFactory blocks, BlockKind kind, BlockSettings settings)
    {
        _endsItself = settings.Groups > 0;
        _subject = blocks.Create(kind, settings with { Scheduler = _scheduler, Token = _cancel.Token, Body = Body });
    }

    public bool Ended => _subject.Completion.IsCompleted;

    public bool EndedBadly => _subject.Completion.IsFaulted || _subject.Completion.IsCanceled;

    /// <summary>All that a user of the block could know by now.</summary>
    public string Observation
    {
        get
        {
            var all = new StringBuilder();
            Task completion = _subject.Completion;
            all.Append(_answers).AppendLine();
            all.Append($"{completion.Status} {Shape(completion.Exception)} in={_subject.InputCount} out={_subject.OutputCount}").AppendLine();
            all.AppendJoin(", ", _tasks.Select(Told)).AppendLine();
            foreach (ProbeTarget<object> target in _targets)
            {
                IEnumerable<string> offers = target.Offers.Select(o => $"{Id(o.Id)}:{Text(o.Value)}{(o.ConsumeToAccept ? "!" : "")}");
                all.Append($"[{string.Join(' ', offers)}] {target.Completes} {Shape(target.Fault)}").AppendLine();
            }

            foreach (ProbeSource<string> source in _sources)
            {
                all.AppendJoin(' ', source.Calls).AppendLine();
            }

            return all.ToString();
        }
    }

    public int Run() => _scheduler.RunAll();

    public void Do(Instruction instruction)
    {
        _answers.Append(' ');
        try
        {
            _answers.Append(Answer(instruction.Step, instruction.Which));
        }
        catch (Exception e)
        {
            _answers.Append(e.GetType().Name);
        }
    }

    public void Dispose()
    {
        _cancel.Dispose();
        _sends.ForEach(static s => s.Dispose());
    }

    private static void Body(string item)
    {
        if (item.StartsWith("throw", StringComparison.Ordinal))
        {
            throw new FormatException(item);
        }

        if (item.StartsWith("cancel", StringComparison.Ordinal))
        {
            throw new OperationCanceledException(item);
        }
    }

    private static string Text(object? message) => string.Join('+', Subject.Strings(message));

    private static string Shape(Exception? error) => error switch
    {
        null => "-",
        AggregateException all => $"Aggregate({string.Join(',', all.InnerExceptions.Select(Shape))})",
        _ => $"{error.GetType().Name}",
    };

    private static string Told(Task task) => task.Status switch
    {
        TaskStatus.RanToCompletion => task is Task<bool> answer ? $"{answer.Result}" : Text(((Task<object>)task).Result),
        TaskStatus.Faulted => Shape(task.Exception),
        TaskStatus.Canceled => "cancelled",
        _ => "pending",
    };

    // The numbers a broadcast counts by are its own.
    private string Id(long id) => _subject.Kind is BlockKind.Broadcast ? "" : $"{id}";

    private string Next(string prefix = "") => $"{prefix}{_number++}";

    private string Answer(Step step, int which)
    {
        ITargetBlock<string> input = _subject.Inputs[which % _subject.Inputs.Length];
        ProbeTarget<object> target = _targets[which % _targets.Length];
        switch (step)
        {
            case Step.Post or Step.PostMore:
                return $"{input.Post(Next())}";
            case Step.PostThrowing:
                return $"{input.Post(Next("throw"))}";
            case Step.PostCancelling:
                return $"{input.Post(Next("cancel"))}";
            case Step.Send:
                var cancel = new CancellationTokenSource();
                _sends.Add(cancel);
                _tasks.Add(input.SendAsync(Next(), cancel.Token));
                return "sent";
            case Step.CancelSend when _sends.Count > 0:
                _sends[which % _sends.Count].Cancel();
                return "";
            case Step.Offer or Step.OfferToConsume:
                return $"{_sources[which % 3].OfferTo(input, _number + 1, Next(), step == Step.OfferToConsume)}";
            case Step.Trigger:
                _subject.Block.GetType().GetMethod("TriggerBatch")?.Invoke(_subject.Block, null);
                return "";
            case Step.Complete:
                _completed = true;
                _subject.Block.Complete();
                return "";
            case Step.Fault:
                _completed = true;
                _subject.Block.Fault(new InvalidOperationException("fault"));
                return "";
            case Step.Cancel when !_completed && !_endsItself:
                // After Complete, and after their last group, Microsoft's blocks may not hear it any more (dotnet/runtime 27357).
                _cancel.Cancel();
                return "";
            case > Step.OfferToConsume when Kinds.HasOutput(_subject.Kind):
                return Receive(step, which, target);
            default:
                return "";
        }
    }

    private string Receive(Step step, int which, ProbeTarget<object> target)
    {
        switch (step)
        {
            case Step.Take or Step.TakeMore:
                return $"({Text(_subject.Take())})";
            case Step.Link or Step.LinkPropagating or Step.LinkFirst or Step.LinkForTwo:
                // A second link of the same target would show its offers under two sources; that has its own tests.
                if (_linked.Add(which % _targets.Length))
                {
                    _links.Add(_subject.Output.LinkTo(target, new DataflowLinkOptions
                    {
                        PropagateCompletion = step == Step.LinkPropagating,
                        Append = step != Step.LinkFirst,
                        MaxMessages = step == Step.LinkForTwo ? 2 : DataflowBlockOptions.Unbounded,
                    }));
                }

                return "";
            case Step.Unlink when _links.Count > 0:
                _links[which % _links.Count].Dispose();
                return "";
            case Step.TargetAccepts:
                target.Answer = ProbeTarget<object>.Accept;
                return "";
            case Step.TargetPostpones:
                target.Answer = ProbeTarget<object>.Postpone;
                return "";
            case Step.TargetDeclines:
                target.Answer = ProbeTarget<object>.Decline;
                return "";
            case Step.TargetDeclinesForever:
                target.Answer = ProbeTarget<object>.DeclineForever;
                return "";
            case Step.Consume when target.Offers.Length > 0:
                return $"{target.Consume(target.Last, out object? value)}({Text(value)})";
            case Step.Reserve when target.Offers.Length > 0:
                return $"{target.Reserve(target.Last)}";
            case Step.Release when target.Offers.Length > 0:
                target.Release(target.Last);
                return "released";
            case Step.ReceiveLater:
                _tasks.Add(_subject.Output.ReceiveAsync());
                return "";
            case Step.WaitForOutput:
                _tasks.Add(_subject.Output.OutputAvailableAsync());
                return "";
            default:
                return "";
        }
    }
}
