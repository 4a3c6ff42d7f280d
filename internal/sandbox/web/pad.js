(function () {
  var box = document.getElementById("draw"), canvas = document.getElementById("pad");
  var out = document.getElementById("drawn"), typed = document.getElementById("typed");
  if (!canvas || !canvas.getContext) return;
  box.hidden = false;
  typed.required = false;
  var ctx = canvas.getContext("2d"), last = null;
  canvas.width = 1200;
  canvas.height = 280;
  ctx.lineWidth = 5;
  ctx.lineCap = ctx.lineJoin = "round";
  ctx.strokeStyle = "#24507A";
  function at(e) {
    var r = canvas.getBoundingClientRect();
    return [(e.clientX - r.left) * canvas.width / r.width, (e.clientY - r.top) * canvas.height / r.height];
  }
  function line(to) {
    ctx.beginPath();
    ctx.moveTo(last[0], last[1]);
    ctx.lineTo(to[0], to[1]);
    ctx.stroke();
    last = to;
  }
  canvas.addEventListener("pointerdown", function (e) {
    canvas.setPointerCapture(e.pointerId);
    last = at(e);
    line(last);
    e.preventDefault();
  });
  canvas.addEventListener("pointermove", function (e) { if (last) line(at(e)); });
  canvas.addEventListener("pointerup", function () { last = null; out.value = canvas.toDataURL("image/png"); });
  canvas.addEventListener("pointercancel", function () { last = null; });
  document.getElementById("clear").addEventListener("click", function () {
    ctx.clearRect(0, 0, canvas.width, canvas.height);
    out.value = "";
  });
})();
